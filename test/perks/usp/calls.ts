import { expect } from 'vitest';
import type { TestBase } from '../../support/test-modules.ts';

export type UspResponse = {
  status: number;
  code: string | undefined;
  data: SessionData;
  headers: Record<string, unknown>;
  body: unknown;
};

type SessionData = {
  session_id: string;
  pub_user_id: string;
  status: string;
  selected: number[];
  unselected: number[];
  wrapped_at: string | null;
};

type FetchedOffer = { id: number; campaign_id: number } & Record<string, unknown>;

/** A fetched session with its offers in the order shown, and their campaign IDs. */
export type Fetched = { id: string; offers: FetchedOffer[]; ids: [number, number, number] };

type CallOptions = { body?: unknown; user?: string; key?: string };

/** Returns the USP calls of one app, as a client makes them. `user` is sent in the query. */
export function uspCalls({ app }: TestBase) {
  async function call(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    { body, user, key = 'demo-key' }: CallOptions = {},
  ): Promise<UspResponse> {
    const query = new URLSearchParams({ api_key: key, ...(user === undefined ? {} : { pub_user_id: user }) });
    const answer = await app.inject({
      method,
      url: `/sdk/v4/usp/${path}?${query}`,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, payload: JSON.stringify(body) }),
    });
    const json = answer.json();
    return { status: answer.statusCode, code: json.error?.code, data: json.data, headers: answer.headers, body: json };
  }

  return {
    call,
    async fetch(body: object = {}, key = 'demo-key'): Promise<Fetched> {
      const payload = { placement: 'checkout', pub_user_id: 'u-1', ...body };
      const answer = await app.inject({ method: 'POST', url: `/native/v2/offers.json?api_key=${key}`, payload });
      expect(answer.statusCode, answer.body).toBe(200);
      const { session_id: id, offers } = answer.json().data as { session_id: string; offers: FetchedOffer[] };
      expect(offers).toHaveLength(3);
      return { id, offers, ids: offers.map((offer) => offer.campaign_id) as [number, number, number] };
    },
    select: (id: string, campaign: number | string, options: CallOptions = { user: 'u-1' }) =>
      call('POST', `${id}/${campaign}/select.json`, options),
    unselect: (id: string, campaign: number | string, options: CallOptions = { user: 'u-1' }) =>
      call('POST', `${id}/${campaign}/unselect.json`, options),
    put: (id: string, body?: unknown, options: CallOptions = {}) =>
      call('PUT', `session/${id}.json`, { body, ...options }),
    get: (id: string, options: CallOptions = { user: 'u-1' }) => call('GET', `session/${id}.json`, options),
    wrap: (id: string, options: CallOptions = {}) =>
      call('POST', `session/${id}.json`, { body: { action: 'wrap' }, ...options }),
  };
}

export type UspCalls = ReturnType<typeof uspCalls>;

export type DeliveryRow = {
  id: string;
  status: string;
  dev: boolean;
  payload: Buffer;
  endpoint_id: number;
  pub_user_id: string;
  queued: boolean;
};

/** Returns the deliveries queued for a session. */
export async function deliveriesOf({ pool }: TestBase, sessionId: string): Promise<DeliveryRow[]> {
  const { rows } = await pool.query<DeliveryRow>(
    `select d.id, d.status, d.dev, d.payload, d.endpoint_id, d.pub_user_id, q.delivery_id is not null as queued
     from deliveries d left join delivery_queue q on q.delivery_id = d.id and q.due_at <= now()
    where d.session_id = $1`,
    [sessionId],
  );
  return rows;
}

/**
 * Creates a selection endpoint of the publisher.
 * @returns the endpoint ID
 */
export async function addEndpoint({ pool, publisher }: TestBase): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into webhook_endpoints (publisher_id, event, url, method, secret_sealed)
     values ($1, 'usp.selection', 'https://shop.test/hook', 'POST', '\\x00') returning id`,
    [publisher.id],
  );
  return (rows[0] as { id: number }).id;
}

/** Inserts a session that no fetch could have created, such as one with many campaigns. */
export async function insertSession(
  { pool, publisher }: TestBase,
  session: { id: string; offerIds: number[]; campaignIds: number[]; pubUserId: string | null; usp: boolean },
): Promise<void> {
  await pool.query(
    `insert into sessions (day, id, publisher_id, placement, offer_ids, campaign_ids, pub_user_id, usp, usp_check_all,
      dev, created_at)
     values (now()::date, $1, $2, 'checkout', $3, $4, $5, $6, false, false, now())`,
    [session.id, publisher.id, session.offerIds, session.campaignIds, session.pubUserId, session.usp],
  );
}
