/*
 * npm run bench:money -- [seeds] [world] [ranking]: ranking worlds, and without arguments also the budget worlds
 * npm run bench:money -- budgets [world] [seeds]: only the budget worlds
 * npm run bench:money -- random [count] [seed] [rankings]: worlds drawn from broad priors
 * npm run bench:money -- disturbed [seeds] [seed]: worlds with lost and late clicks, a pause, or new offers
 * npm run bench:money -- tables FOLDER [SEEDS] [ANSWERS]: public classification tables
 * npm run bench:money -- size: model size for a large catalogue
 */
const [, , first] = process.argv;
if (first === 'size') await import('./model-size.ts');
else if (first === 'disturbed') await import('./disturbed.ts');
else if (first === 'tables') await import('./tables.ts');
else if (first === 'random') await import('./random/run.ts');
else if (first !== 'budgets') await import('./run.ts');
if (first === undefined || first === 'budgets') await import('./budgets.ts');
