import type { Stage } from './stage.ts';

export type Load = {
  /** Sessions whose wrap was answered with 200. */
  wrapped: string[];
  /** Resolves when that many are wrapped. */
  reach: (count: number) => Promise<void>;
  /** Ends the users after what they are doing. */
  stop: () => Promise<void>;
};

const users = 16;
const pauseMs = 50;

/**
 * Users who fetch offers and wrap the session, again and again, whatever happens to the servers, until `total` wraps
 * were answered.
 */
export function startLoad(stage: Stage, total: number): Load {
  const wrapped: string[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  let running = true;
  let turn = 0;

  const call = async (path: string, body: object): Promise<unknown> => {
    const answer = await fetch(`${stage.apiUrl()}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(5000),
    });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.json();
  };

  async function user(): Promise<void> {
    while (running && wrapped.length < total) {
      turn += 1;
      const key = stage.keys[turn % stage.keys.length];
      try {
        const fetched = await call(`/native/v4/offers.json?api_key=${key}`, {
          placement: 'checkout',
          pub_user_id: `user-${turn}`,
        });
        const { session_id } = (fetched as { data: { session_id: string } }).data;
        await call(`/sdk/v4/usp/session/${session_id}.json?api_key=${key}`, { action: 'wrap' });
        wrapped.push(session_id);
        for (const one of waiting) if (wrapped.length >= one.count) one.resolve();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pauseMs)); // a server is away
      }
    }
  }

  const done = Promise.all(Array.from({ length: users }, user));
  return {
    wrapped,
    reach: (count) =>
      new Promise((resolve) => {
        if (wrapped.length >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    stop: async () => {
      running = false;
      await done;
    },
  };
}
