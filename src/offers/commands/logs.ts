import { createApi } from '../../command-line/api.ts';
import { type Call, exitCodes, type Run, textOption, usageError } from '../../command-line/command.ts';
import { follow } from '../../command-line/follow.ts';

type LiveCall = {
  id: string;
  at: string;
  method: string;
  path: string;
  placements: string[];
  session_id: string | null;
  status: number;
  ms: number;
  error: { code: string; message: string; details?: Note[] } | null;
  notes: Note[];
};
type Note = { path: string; message: string };

/** Maximum number of printed calls to remember. They are remembered because a reconnect may return them again. */
const maxRemembered = 1000;

/** Prints calls as they arrive, until the command is stopped. */
export const tailCalls: Run = async (call) => {
  const { out } = call;
  const status = textOption(call, 'status');
  const last = textOption(call, 'last') || '10';
  if (status !== '' && !/^[1-5](\d\d|xx)$/.test(status))
    throw usageError(`"${status}" is not a status such as 404 or 4xx.`);
  if (!/^\d{1,3}$/.test(last) || Number(last) > 200) throw usageError('--last must be a whole number from 0 to 200.');
  const placement = textOption(call, 'placement');
  const filter = { ...(status !== '' && { status }), ...(placement !== '' && { placement }) };
  // After a reconnect, request the most recent calls as well, because they include those that were missed.
  const pathOf = (isFirst: boolean): string =>
    `/manage/v1/live-calls/stream?${new URLSearchParams({ last: isFirst ? last : '200', ...filter })}`;
  const printedIds = new Set<string>();
  await follow(createApi(call), call, pathOf, ({ name, data }) => {
    if (name !== 'call') return;
    const liveCall = JSON.parse(data) as LiveCall;
    if (printedIds.has(liveCall.id)) return;
    printedIds.add(liveCall.id);
    for (const id of printedIds) if (printedIds.size > maxRemembered) printedIds.delete(id);
    out.data(liveCall);
    show(call, liveCall);
  });
  return exitCodes.ok;
};

function show(
  { out }: Call,
  { at, method, path, placements, session_id: session, status, ms, error, notes }: LiveCall,
) {
  const parts = [at, method, path, placements.join(','), status, `${ms} ms`, session ?? ''];
  const reason = error === null ? '' : ` ${error.code}: ${error.message}`;
  out.line(`${parts.filter((part) => part !== '').join(' ')}${reason}`);
  for (const note of [...(error?.details ?? []), ...notes])
    out.line(`    ${note.path === '' ? note.message : `${note.path}: ${note.message}`}`);
}
