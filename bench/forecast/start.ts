/** Starts the benchmark: `size`, or otherwise the number of worlds and the first seed. */
await import(process.argv[2] === 'size' ? './size.ts' : './run.ts');
