import { embeddedDemoIds } from '../../../src/demo/catalogue.ts';
import { browser } from '../../tracking/journey.ts';

export type Offer = {
  id: number;
  campaign_id: number;
  pixel: string;
  click_url: string;
  beacons: { close: string; no_thanks_click: string };
};
export type Session = { id: string; offers: Offer[] };
export type ClientResponse = { status: number; headers: Headers; json: unknown };

/** Client that calls the servers of one installation in rotation, and counts the sessions and offers it receives. */
export type Client = {
  /** Number of sessions, filled sessions and offers received. */
  served: { sessions: number; filled: number; offers: number };
  call: (method: string, path: string, body?: object) => Promise<ClientResponse>;
  /**
   * Calls the management API with the publisher's key.
   * @throws if the status is not 2xx
   * @returns `data` of the response
   */
  manage: <Data>(method: string, path: string, body?: object) => Promise<Data>;
  fetchOffers: (body: object) => Promise<Session>;
  /**
   * Sends a GET request for a URL from a response to the next server.
   * @returns status and headers
   */
  follow: (url: string, userAgent?: string) => Promise<ClientResponse>;
  /** Sends all further calls to this server, or to all servers in rotation if null. */
  stayAt: (index: number | null) => void;
};

export function createClient(urls: readonly string[]): Client {
  const served = { sessions: 0, filled: 0, offers: 0 };
  let calls = 0;
  let only: number | null = null;
  const nextUrl = (): string => urls[only ?? calls++ % urls.length] as string;

  async function call(method: string, path: string, body?: object, userAgent = browser): Promise<ClientResponse> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await fetch(`${nextUrl()}${path}`, {
      method,
      redirect: 'manual',
      headers: { 'user-agent': userAgent, ...type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: answer.status, headers: answer.headers, json: isJson ? JSON.parse(text) : text };
  }

  async function manage<Data>(method: string, path: string, body?: object): Promise<Data> {
    const withKey = `${path}${path.includes('?') ? '&' : '?'}api_key=${embeddedDemoIds.key}`;
    const answer = await call(method, withKey, body);
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.json)}`);
    return (answer.json as { data: Data }).data;
  }

  return {
    served,
    call,
    manage,
    fetchOffers: async (body) => {
      const data = await manage<{ session_id: string; offers: Offer[] }>('POST', '/native/v4/offers.json', body);
      served.sessions += 1;
      served.offers += data.offers.length;
      if (data.offers.length > 0) served.filled += 1;
      return { id: data.session_id, offers: data.offers };
    },
    follow: (url, userAgent) => {
      const { pathname, search } = new URL(url);
      return call('GET', pathname + search, undefined, userAgent);
    },
    stayAt: (index) => {
      only = index;
    },
  };
}
