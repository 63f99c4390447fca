import { createApi } from '../../command-line/api.ts';
import { exitCodes, type Run, usageError } from '../../command-line/command.ts';

type Entry = {
  at: string;
  kind: string;
  offer_id: number | null;
  counted: number | null;
  reason: string | null;
  revenue: number | null;
  currency: string | null;
  name: string | null;
  status: string | null;
  txn_id: string | null;
};
type StoryAnswer = { kind: string; session_ids: string[]; session: { session_id: string }; entries: Entry[] };

/** Prints everything that is stored about a session, oldest first. */
export const showStory: Run = async ({ args, out, ...call }) => {
  const [id, ...rest] = args;
  if (id === undefined || rest.length > 0) throw usageError('Expected one ID.');
  const { data } = (await createApi({ args, out, ...call }).call('GET', '/manage/v1/story', { query: { id } })) as {
    data: StoryAnswer;
  };
  out.data(data);
  out.line(`Session ${data.session.session_id}, found by its ${data.kind} id:`);
  for (const entry of data.entries) out.line(`  ${entry.at}  ${textOf(entry)}`);
  const others = data.session_ids.length - 1;
  if (others > 0) out.note(`${others} older sessions also match: ${data.session_ids.slice(1, 6).join(', ')}`);
  return exitCodes.ok;
};

function textOf({
  kind,
  offer_id: offer,
  counted,
  reason,
  revenue,
  currency,
  name,
  status,
  txn_id: txn,
}: Entry): string {
  const parts = [
    kind,
    offer === null ? null : `offer ${offer}`,
    name,
    status,
    txn,
    revenue === null ? null : `${revenue} ${currency}`,
    counted === 0 ? 'not counted' : null,
    reason,
  ];
  return parts.filter((part) => part !== null).join(', ');
}
