import { createApi, readJsonFile } from '../../command-line/api.ts';
import { exitCodes, type Run, usageError } from '../../command-line/command.ts';

type Condition = { text: string; excluded: number; only: number };
type Example = { at: string; placement: string; unmet: readonly { text: string }[] };
type CheckAnswer = {
  data: {
    days: number;
    sessions: number;
    matching: number;
    conditions: readonly Condition[];
    unseen: readonly { kind: string; key: string }[];
    examples: readonly Example[];
  };
  warnings: readonly { message: string }[];
};

/** Prints which recent sessions a campaign or draft matches, and which conditions exclude the others. */
export const targeting: Run = async (call) => {
  const [source = '', ...rest] = call.args;
  if (source === '' || rest.length > 0) throw usageError('Expected one campaign ID or file.');
  const api = createApi(call);
  const answer = /^\d+$/.test(source)
    ? await api.call('GET', `/manage/v1/campaigns/${source}/targeting`)
    : await api.call('POST', '/manage/v1/campaigns/targeting', { body: draftOf(await readJsonFile(call, source)) });
  const { data, warnings } = answer as CheckAnswer;
  call.out.data(data);
  const { days, sessions, matching, conditions, unseen, examples } = data;
  call.out.line(`${matching} of ${sessions} sessions in the last ${days} days match.`);
  for (const { text, excluded, only } of conditions)
    call.out.line(`  ${text}: excludes ${excluded} sessions, ${only} of which no other condition excludes`);
  for (const { at, placement, unmet } of examples)
    call.out.line(`  ${at} ${placement}: ${unmet.length === 0 ? 'matches' : unmet.map(({ text }) => text).join('; ')}`);
  for (const { kind, key } of unseen) call.out.note(`No recent session has the ${kind} ${key}.`);
  for (const { message } of warnings) call.out.note(message);
  return exitCodes.ok;
};

/** Returns the fields that determine the targeting, so that the file of a forecast can be used. */
function draftOf(file: unknown): object {
  const { rules, is_loyalty } = (file ?? {}) as Record<string, unknown>;
  return { ...(rules !== undefined && { rules }), ...(is_loyalty !== undefined && { is_loyalty }) };
}
