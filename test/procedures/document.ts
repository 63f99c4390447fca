import { readFileSync } from 'node:fs';

/** A step of a procedure: either commands, or a variable that all processes get. */
export type Step = { variable: string; value: string } | { commands: string };

const source = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

/**
 * Returns the steps below a heading of docs/operations.md, in order, so that the tests run exactly what is documented.
 */
export function stepsOf(heading: string): Step[] {
  const [, section] = source.split(`\n### ${heading}\n`);
  const text = section?.split(/\n##/)[0] ?? '';
  const steps = [...text.matchAll(/```sh\n([\s\S]*?)```|`([A-Z_]+)=([^`\s]+)`|`((?:\w+=\w+ )?npm [^`]+)`/g)].map(
    ([, block, variable, value, command]): Step =>
      variable === undefined ? { commands: block ?? command ?? '' } : { variable, value: value ?? '' },
  );
  if (steps.length === 0) throw new Error(`docs/operations.md has no steps below "${heading}"`);
  return steps;
}

/** Returns the commands below a heading. */
export const commandsOf = (heading: string): string[] =>
  stepsOf(heading).flatMap((step) => ('commands' in step ? [step.commands] : []));
