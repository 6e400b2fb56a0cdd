-- What is kept of searches: see driver/store.h. This is version 1; a change of
-- the schema is a new number and a step in store.c's table of migrations.

-- One search: a kernel's contract put to one model under one set of options.
CREATE TABLE search (
  id INTEGER PRIMARY KEY,
  contract TEXT NOT NULL,     -- hash of the contract, 32 hex digits
  model TEXT NOT NULL,        -- who is asked, and where; never a key
  options TEXT NOT NULL,      -- trajectories, turns, beam, ...
  backend TEXT NOT NULL,
  device TEXT NOT NULL,
  tool TEXT NOT NULL,         -- version of this program
  kernel TEXT NOT NULL,
  file TEXT NOT NULL,
  base TEXT,                  -- what every prompt begins with
  ended TEXT,                 -- how; NULL: it may go on
  why TEXT,
  superseded INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX search_key ON search (contract, model, options, backend, device, tool)
  WHERE superseded = 0;
CREATE INDEX search_kernel ON search (kernel);

CREATE TABLE prompt (
  hash TEXT PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;

-- A variant, once however often it was proposed in a search.
CREATE TABLE variant (
  id INTEGER PRIMARY KEY,
  search INTEGER NOT NULL REFERENCES search (id),
  tokens TEXT NOT NULL,       -- hash of code and launch, formatting aside
  code TEXT NOT NULL,
  launch TEXT,                -- NULL: as the original
  summary TEXT NOT NULL,
  UNIQUE (search, tokens)
) STRICT;

-- One turn, in three steps: asked; answered (reply); judged (told).
CREATE TABLE turn (
  id INTEGER PRIMARY KEY,
  search INTEGER NOT NULL REFERENCES search (id),
  trajectory INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  parent INTEGER REFERENCES turn (id), -- the turn before it, a beam's copies included
  prompt TEXT REFERENCES prompt (hash), -- NULL: the model reads none
  reply TEXT,                 -- with its reasoning
  truncated INTEGER NOT NULL DEFAULT 0,
  tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  model_ms REAL NOT NULL DEFAULT 0,
  position INTEGER,           -- the order in which they were judged
  variant INTEGER REFERENCES variant (id), -- NULL: the reply held none
  same_as INTEGER REFERENCES turn (id),    -- the turn that was judged for it
  verdict TEXT,               -- JSON
  told TEXT,
  score REAL,
  judge_ms REAL NOT NULL DEFAULT 0,
  UNIQUE (search, trajectory, turn)
) STRICT;

-- The times of a judged turn, a case each.
CREATE TABLE sample (
  turn INTEGER NOT NULL REFERENCES turn (id),
  label TEXT NOT NULL,
  base_us REAL NOT NULL,
  cand_us REAL NOT NULL,
  ratio REAL NOT NULL,
  lo REAL NOT NULL,
  hi REAL NOT NULL,
  n INTEGER NOT NULL          -- samples; 0: modelled
) STRICT;
CREATE INDEX sample_turn ON sample (turn);
