import { createInterface } from 'node:readline/promises';
import { createApi, readJsonFile } from '../../command-line/api.ts';
import { type Call, exitCodes, idOption, type Run, usageError } from '../../command-line/command.ts';
import type { Applied } from '../resources/catalogue/apply.ts';
import type { Change } from '../resources/catalogue/plan.ts';
import { applyByDatabase } from './by-database.ts';
import { databaseOf, fileOf } from './catalogue.ts';
import { short } from './catalogue-diff.ts';

type ApplyRequest = { dryRun: boolean; expected: string | null };

/** Exit code of a dry run that finds changes, as in `terraform plan -detailed-exitcode`. */
const changesPending = 2;

/** Prints the plan, asks for confirmation, and applies the plan exactly as printed. */
export const apply: Run = async (call) => {
  const { options, out } = call;
  const file = fileOf(call);
  const run = applierOf(call, await readJsonFile(call, file), file);
  const plan = await run({ dryRun: true, expected: null });
  out.progress('');
  const isDryRun = options['dry-run'] === true;
  for (const change of plan.changes) show(call, change);
  for (const { path, message } of plan.warnings) out.line(`! ${path} ${message}`);
  if (isDryRun || plan.changes.length === 0) {
    out.data(plan);
    out.line(plan.changes.length === 0 ? `No changes: the catalogue matches ${file}.` : planned(plan));
    return plan.changes.length === 0 ? exitCodes.ok : changesPending;
  }
  out.line(planned(plan));
  if (options.yes !== true && !(await isAgreed(call))) {
    out.note('No changes were applied.');
    return exitCodes.problem;
  }
  const applied = await run({ dryRun: false, expected: plan.plan });
  out.progress('');
  out.data(applied);
  out.line(`Applied ${file}.`);
  return exitCodes.ok;
};

function applierOf(call: Call, content: unknown, file: string): (request: ApplyRequest) => Promise<Applied> {
  const prune = call.options.prune === true;
  const database = databaseOf(call);
  if (database !== null)
    return (request) =>
      applyByDatabase(database, content, { ...request, prune, name: file, publisherId: idOption(call, 'publisher') });
  const api = createApi(call);
  return async ({ dryRun, expected }) => {
    const query = {
      ...(dryRun && { dry_run: 'true' }),
      ...(prune && { prune: 'true' }),
      ...(expected !== null && { plan: expected }),
    };
    const answer = await api.call('POST', '/manage/v1/catalogue/apply', { query, body: content });
    return (answer as { data: Applied }).data;
  };
}

const signs = { created: '+', changed: '~', removed: '-' } as const;

function show({ out }: Call, { change, kind, id, name, fields }: Change): void {
  out.line(`${signs[change]} ${[kind, id, id === name ? '' : name].filter(Boolean).join(' ')}`);
  for (const { name: field, from, to } of fields) out.line(`    ${field}: ${short(from)} → ${short(to)}`);
}

const planned = ({ counts: { created, changed, removed } }: Applied): string =>
  `Plan: ${created} to create, ${changed} to change, ${removed} to remove.`;

/**
 * Asks the user for confirmation in the terminal.
 * @throws CommandError if there is no terminal
 */
async function isAgreed({ stdin, stderr, signal }: Call): Promise<boolean> {
  if (stdin.isTTY !== true)
    throw usageError('No changes were applied, because there is no terminal to confirm them. Use --yes to apply them.');
  const terminal = createInterface({ input: stdin, output: stderr });
  try {
    return /^(y|yes)$/i.test((await terminal.question('Apply these changes? (yes/no) ', { signal })).trim());
  } finally {
    terminal.close();
  }
}
