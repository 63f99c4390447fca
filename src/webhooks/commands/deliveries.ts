import { setTimeout as sleep } from 'node:timers/promises';
import { type Api, createApi } from '../../command-line/api.ts';
import {
  type Call,
  CommandError,
  exitCodes,
  idOption,
  type Run,
  textOption,
  usageError,
} from '../../command-line/command.ts';
import { counted } from '../../command-line/counted.ts';
import { createDeliveryPoller, type Delivery, type DeliveryPage } from './poll-deliveries.ts';

const path = '/manage/v1/deliveries';
const statuses = ['pending', 'delivered', 'failed', 'held'];
/** Delivery statuses that `deliveries retry` selects by default: all except `delivered`. */
const undelivered = ['failed', 'held', 'pending'];
const pollIntervalMs = 1000;
/** Number of deliveries per page. */
const pageSize = 200;

function statusesOf(call: Call): string[] {
  const requested = textOption(call, 'status')
    .split(',')
    .map((status) => status.trim())
    .filter((status) => status !== '');
  const unknown = requested.find((status) => !statuses.includes(status));
  if (unknown !== undefined) throw usageError(`"${unknown}" is not a status. Use ${statuses.join(', ')}.`);
  return requested;
}

/**
 * Prints deliveries and all changes to their status, oldest first. If the service was unreachable, prints the missed
 * changes afterwards.
 */
export const tailDeliveries: Run = async (call) => {
  const { signal, options, out } = call;
  const api = createApi(call);
  const last = idOption(call, 'last') ?? 10;
  const filter = statusesOf(call);
  const query = {
    event: textOption(call, 'event') || undefined,
    endpoint: idOption(call, 'endpoint') ?? undefined,
    limit: pageSize,
    ...(filter.length === 1 && { status: filter[0] }),
  };
  const poller = createDeliveryPoller(async (part) => {
    const answer = await api.call('GET', path, { query: { ...query, ...part } });
    return (answer as { data: DeliveryPage }).data;
  });
  let isCut = false;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const rows = await (isFirst ? poller.first(last) : poller.next()).catch((err: unknown) => {
      if (signal.aborted) return [];
      if (isFirst || !(err instanceof CommandError) || err.exitCode !== exitCodes.unavailable) throw err;
      return null;
    });
    if (rows === null && !isCut) out.note('The connection was lost. Retrying every second; no deliveries are lost.');
    isCut = rows === null;
    const matches = (rows ?? []).filter(({ status }) => filter.length === 0 || filter.includes(status));
    for (const row of isFirst ? matches.slice(-last) : matches) {
      out.data(row);
      out.line(lineOf(row));
    }
    if (options.once === true) break;
    await sleep(pollIntervalMs, undefined, { signal }).catch(() => {});
  }
  return exitCodes.ok;
};

function lineOf(row: Delivery): string {
  const answer = row.last_status ?? row.last_error;
  return `${row.created_at} ${row.webhook_id} ${row.event} → endpoint ${row.endpoint_id}: ${row.status}${
    row.tries > 0 ? `, attempts ${row.tries}` : ''
  }${answer === null ? '' : `, last ${answer}`}`;
}

/** Attempts deliveries immediately. They are selected by ID or by a filter. Waits until all of them are queued. */
export const retryDeliveries: Run = async (call) => {
  const filter = {
    event: textOption(call, 'event') || undefined,
    endpoint: idOption(call, 'endpoint') ?? undefined,
    from: textOption(call, 'from') || undefined,
    to: textOption(call, 'to') || undefined,
  };
  const requested = statusesOf(call);
  const isFiltered = requested.length > 0 || Object.values(filter).some((value) => value !== undefined);
  if (call.args.length > 0 === isFiltered)
    throw usageError('Expected delivery IDs, or a filter: --endpoint, --event, --status, --from or --to.');
  const api = createApi(call);
  if (call.args.length > 0) return retryNamed(api, call);
  return retryMatching(api, call, { ...filter, status: requested.length > 0 ? requested : undelivered });
};

async function retryNamed(api: Api, { args, out }: Call): Promise<number> {
  for (const id of args) {
    const { data } = (await api.call('POST', `${path}/${encodeURIComponent(id)}/replay`)) as { data: object };
    out.data(data);
    out.line(`${id}: queued.`);
  }
  return exitCodes.ok;
}

type Job = { id: string; status: string; total: number; queued: number };

async function retryMatching(api: Api, { options, out, signal }: Call, body: object): Promise<number> {
  const isDry = options['dry-run'] === true;
  const { data } = (await api.call('POST', `${path}/replay`, { body: { ...body, dry_run: isDry } })) as {
    data: Job & { count: number };
  };
  if (isDry) {
    out.data(data);
    out.line(`${counted(data.count, 'delivery matches', 'deliveries match')}. Nothing was sent.`);
    return exitCodes.ok;
  }
  let job: Job = data;
  while (job.status === 'running' && !signal.aborted) {
    out.progress(`${job.queued} of ${job.total}`);
    await sleep(pollIntervalMs / 2, undefined, { signal }).catch(() => {});
    job = ((await api.call('GET', `/manage/v1/replays/${job.id}`)) as { data: Job }).data;
  }
  out.progress('');
  out.data(job);
  out.line(`Queued ${counted(job.queued, 'attempt')}.`);
  return exitCodes.ok;
}
