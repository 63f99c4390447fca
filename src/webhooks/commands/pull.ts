import { setTimeout as sleep } from 'node:timers/promises';
import { createApi } from '../../command-line/api.ts';
import { CommandError, exitCodes, idOption, type Run, usageError } from '../../command-line/command.ts';
import { jsonText } from '../../command-line/output.ts';

type Page = { data: { endpoint_id: number; events: readonly object[]; cursor: string | null } };

const path = '/manage/v1/events';
const waitS = 20;
const retryMs = 1000;

/**
 * Prints events, one JSON object per line. Each call acknowledges the events of the previous call, after they were
 * printed. With `--follow`, calls are repeated while the service is unreachable.
 */
export const pullEvents: Run = async (call) => {
  const { options, out, signal } = call;
  const isPeek = options.peek === true;
  const follows = options.follow === true;
  if (isPeek && follows) throw usageError('Use either --follow or --peek.');
  const api = createApi(call);
  const query = { endpoint: idOption(call, 'endpoint') ?? undefined, limit: idOption(call, 'limit') ?? undefined };
  let after: string | undefined;
  let isCut = false;
  let isFirst = true;
  for (; !signal.aborted; isFirst = false) {
    const wait = follows ? waitS : undefined;
    const page = await api.call('GET', path, { query: { ...query, after, wait } }).catch((err: unknown) => {
      if (signal.aborted) return null;
      if (!follows || isFirst || !(err instanceof CommandError) || err.exitCode !== exitCodes.unavailable) throw err;
      if (!isCut) out.note('The connection was lost. Retrying every second; no events are lost.');
      isCut = true;
      return null;
    });
    if (page === null) {
      await sleep(retryMs, undefined, { signal }).catch(() => {});
      continue;
    }
    isCut = false;
    const { events, cursor, endpoint_id: endpointId } = (page as Page).data;
    query.endpoint = endpointId;
    for (const event of events) {
      out.data(event);
      out.line(jsonText(event));
    }
    if (isPeek) return exitCodes.ok;
    after = cursor ?? undefined;
    if (events.length === 0 && !follows) return exitCodes.ok;
  }
  // The command was stopped, but the events of the last call were printed, so acknowledge them.
  if (after !== undefined) await api.call('GET', path, { query: { ...query, after, limit: 1 } }).catch(() => {});
  return exitCodes.ok;
};
