import { nodeProblem } from './runtime/node-version.ts';

const problem = nodeProblem(process.versions.node);
if (problem !== null) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}

// Loaded only now: an older Node.js cannot parse or link all of it.
const { failureText, main } = await import('./main.ts');
main().catch((err: Error) => {
  process.stderr.write(`${failureText(err)}\n`);
  process.exit(1);
});
