import fc from 'fast-check';

// All generated inputs of a run come from one seed, which the set-up prints: TEST_SEED repeats it.
fc.configureGlobal({ seed: Number(process.env.TEST_SEED) });
