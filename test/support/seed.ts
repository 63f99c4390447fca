import fc from 'fast-check';

// All generated inputs of a run use one seed, which the set-up prints. Set TEST_SEED to repeat a run.
fc.configureGlobal({ seed: Number(process.env.TEST_SEED) });
