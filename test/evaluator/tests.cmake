kr_unit(evaluator contract kevin-contract)
kr_unit(evaluator instance kevin-contract)
kr_unit(evaluator fill kevin-contract)
