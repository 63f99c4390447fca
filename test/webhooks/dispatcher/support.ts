import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, vi } from 'vitest';
import { transaction } from '../../../src/platform/db/pool.ts';
import { createSigner } from '../../../src/platform/security/tracking-token.ts';
import { type Dispatcher, type DispatcherOptions, startDispatcher } from '../../../src/webhooks/dispatcher/worker.ts';
import { saveEndpoint } from '../../../src/webhooks/endpoint-changes.ts';
import { enqueue } from '../../../src/webhooks/outbox.ts';
import { createPayloadLinks, payloadLinkPurpose } from '../../../src/webhooks/payload-link.ts';
import { sealHeaders } from '../../../src/webhooks/signature.ts';
import type { Services, TestBase } from '../../support/test-modules.ts';
import { bodyOf, httpReceiver } from './send/receivers.ts';

/** A received request. `atMs` is from `performance.now()`. */
type ReceivedRequest = { method: string; url: string; headers: Record<string, string>; body: Buffer; atMs: number };

export type Hook = { url: string; requests: ReceivedRequest[]; close: () => Promise<void> };

type Responder = (response: ServerResponse, request: ReceivedRequest, count: number) => void;

/**
 * Starts a publisher's server on this machine, which records the requests it receives. Without `answer`, it responds
 * with 200.
 */
export async function startHook(answer: Responder = (response) => void response.end()): Promise<Hook> {
  const requests: ReceivedRequest[] = [];
  const receiver = await httpReceiver(async (request: IncomingMessage, response: ServerResponse) => {
    const body = await bodyOf(request);
    const { method = '', url = '' } = request;
    const receivedRequest = {
      method,
      url,
      headers: request.headers as Record<string, string>,
      body,
      atMs: performance.now(),
    };
    requests.push(receivedRequest);
    answer(response, receivedRequest, requests.length);
  });
  return { url: `http://127.0.0.1:${receiver.port}/hook`, requests, close: receiver.close };
}

type Ending = { stop?: () => Promise<unknown>; close?: () => Promise<unknown> };

/** Resources that a test starts. `end` stops all of them, most recent first. */
export type Parts = {
  hook: (answer?: Responder) => Promise<Hook>;
  dispatcher: (options?: Partial<DispatcherOptions>) => Promise<Dispatcher>;
  end: () => Promise<void>;
};

/** An application that has the services of the module `webhooks`. */
type WithWebhooks = TestBase & { deps: Services['webhooks'] };

export function createParts(t: () => WithWebhooks): Parts {
  const parts: Ending[] = [];
  const register = <Part extends Ending>(part: Part): Part => {
    parts.push(part);
    return part;
  };
  return {
    hook: async (answer) => register(await startHook(answer)),
    dispatcher: async (options) => register(await startTestDispatcher(t(), options)),
    end: async () => {
      for (const part of parts.splice(0).reverse()) await (part.stop ?? part.close)?.();
      await t().pool.query('delete from delivery_queue');
    },
  };
}

export const linksOf = ({ deps }: TestBase) =>
  createPayloadLinks(createSigner(deps.config.tokenKeys, payloadLinkPurpose), deps.config.publicUrl);

/** Starts the dispatcher with the application's own services, and no jitter. */
export const startTestDispatcher = (t: WithWebhooks, options: Partial<DispatcherOptions> = {}): Promise<Dispatcher> =>
  startDispatcher({
    ...t.deps,
    databaseUrl: t.databaseUrl,
    concurrency: 16,
    drainLimitMs: 5000,
    payloadLinks: linksOf(t),
    random: () => 0.5,
    ...options,
  });

let publishers = 0;

type EndpointColumns = {
  deadline_ms: number;
  retry_steps_s: number[];
  max_in_flight: number;
  rate_limit_per_s: number;
  strict_order: boolean;
  paused_at: Date;
  headers: Record<string, string>;
  signature_v1a: boolean;
  v1a_key_sealed: Buffer;
};

export type TestEndpoint = { id: number; publisherId: number; secret: string };

/** Creates a publisher with an endpoint. `columns` are SQL values, such as `{ deadline_ms: 1000 }`. */
export async function addEndpoint(
  { pool, deps }: TestBase,
  url: string,
  { method = 'POST', ...columns }: { method?: 'POST' | 'GET' } & Partial<EndpointColumns> = {},
): Promise<TestEndpoint> {
  const sdkId = (++publishers).toString(16).padStart(16, 'e');
  const { rows } = await pool.query<{ id: number }>(
    'insert into publishers (name, sdk_id) values ($1, $1) returning id',
    [sdkId],
  );
  const publisherId = rows[0]?.id as number;
  const event = 'usp.selection';
  const saved = await saveEndpoint(pool, deps.secretBox, {
    publisherId,
    event,
    url,
    method,
    enabled: true,
    nowMs: Date.now(),
  });
  const values = { ...columns, ...(columns.headers && { headers: sealHeaders(deps.secretBox, columns.headers) }) };
  for (const [name, value] of Object.entries(values)) {
    await pool.query(`update webhook_endpoints set ${name} = $1 where publisher_id = $2`, [value, publisherId]);
  }
  const result = await pool.query<{ id: number }>('select id from webhook_endpoints where publisher_id = $1', [
    publisherId,
  ]);
  return { id: result.rows[0]?.id as number, publisherId, secret: saved.secret as string };
}

/** Returns a payload like that of a wrapped session. */
export const payloadOf = (campaignIds: readonly number[] = [7, 3], filler = ''): Buffer =>
  Buffer.from(
    JSON.stringify({
      body: {
        pub_user_id: 'ユーザー & 1',
        selected: campaignIds.length > 0 ? 1 : 0,
        session_id: '0197a000-0000-7000-8000-000000000001',
        campaigns: campaignIds.map((campaign_id) => ({
          campaign_id,
          title: `“Offer” ${campaign_id}`,
          description: filler,
        })),
      },
    }),
  );

/** Creates a delivery to a publisher's endpoint, like the wrap of a session. Returns its ID. */
export async function enqueueDelivery(
  { pool }: TestBase,
  endpoint: TestEndpoint,
  { payload = payloadOf(), dev = false }: { payload?: Buffer; dev?: boolean } = {},
): Promise<string> {
  const what = {
    publisherId: endpoint.publisherId,
    event: 'usp.selection',
    sessionId: null,
    pubUserId: null,
    dev,
    payload: () => payload,
    nowMs: Date.now(),
  };
  const ids = await transaction(pool, (executor) => enqueue(executor, [what]));
  return ids[0] as string;
}

export type DeliveryRow = { status: string; attempts: number; queued: boolean; leased: boolean; finished: boolean };

export async function deliveryOf({ pool }: TestBase, id: string): Promise<DeliveryRow> {
  const { rows } = await pool.query<DeliveryRow>(
    `select status, d.attempts, q.delivery_id is not null as queued, q.lease_until is not null as leased,
      finished_at is not null as finished
    from deliveries d
    left join delivery_queue q on q.delivery_id = d.id
    where d.id = $1`,
    [id],
  );
  return rows[0] as DeliveryRow;
}

export type AttemptRow = {
  generation: number;
  outcome: string | null;
  status_code: number | null;
  error_class: string | null;
  error_message: string | null;
  total_ms: number | null;
  remote_address: string | null;
  response_headers: Record<string, string> | null;
  response_body: Buffer | null;
  /** Delay from the end of the attempt to the next attempt, in seconds. */
  wait_s: number | null;
};

export async function attemptsOf({ pool }: TestBase, id: string): Promise<AttemptRow[]> {
  const { rows } = await pool.query<AttemptRow>(
    `select *, extract(epoch from next_attempt_at - finished_at)::float as wait_s
    from delivery_attempts
    where delivery_id = $1
    order by generation`,
    [id],
  );
  return rows;
}

/** Waits until a delivery has this many finished attempts and no lease. */
export async function untilAttempted(t: TestBase, id: string, attempts: number): Promise<void> {
  await until(async () => (await attemptsOf(t, id)).filter((row) => row.outcome !== null).length, attempts);
}

/** Waits until `read` returns `expected`. */
export const until = <Value>(read: () => Promise<Value> | Value, expected: Value): Promise<void> =>
  expect.poll(read, { interval: 10 }).toEqual(expected);

/**
 * Waits until dispatchers on the application's pool have scanned the queue this many more times. Each poll scans both
 * lanes, and claims what it found before the next poll.
 */
export async function untilScanned({ pool }: TestBase, times: number): Promise<void> {
  const query = vi.spyOn(pool, 'query');
  const scans = (): number =>
    (query.mock.calls as unknown[][]).filter(([statement]) => (statement as { name?: string }).name === 'scan_queue')
      .length;
  await expect.poll(scans).toBeGreaterThanOrEqual(times);
  query.mockRestore();
}

/** Waits until every connected worker has checked for dead workers this many more times. */
export async function untilSwept({ pool }: TestBase, times: number): Promise<void> {
  const sweeps = new Map<number, Set<string>>();
  const fewest = async (): Promise<number> => {
    const { rows } = await pool.query<{ pid: number; begun: string }>(
      `select pid, query_start::text as begun from pg_stat_activity
      where datname = current_database() and application_name = 'perkwire-worker' and strpos(query, $1) > 0`,
      ['from dispatcher_workers w where not exists'],
    );
    for (const { pid, begun } of rows) sweeps.set(pid, (sweeps.get(pid) ?? new Set()).add(begun));
    return rows.length === 0 ? 0 : Math.min(...rows.map(({ pid }) => (sweeps.get(pid)?.size ?? 1) - 1));
  };
  await expect.poll(fewest).toBeGreaterThanOrEqual(times);
}

/** Makes the next attempt of a delivery due now. */
export async function makeDue({ pool }: TestBase, id: string): Promise<void> {
  await pool.query('update delivery_queue set due_at = now() where delivery_id = $1', [id]);
  await pool.query('notify perkwire_outbox');
}
