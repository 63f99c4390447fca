import { jobsOf } from '../../src/runtime/run-jobs.ts';
import type { TestBase } from '../support/test-modules.ts';

type Detail = { path: string; message: string };
export type ApiResponse = {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of many calls
  body: any;
  code: string | undefined;
  details: readonly Detail[];
};

/** Returns management API calls that use a key. */
export const callsOf =
  ({ app }: TestBase, key = 'demo-key') =>
  async (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, payload?: object): Promise<ApiResponse> => {
    const answer = await app.inject({
      method,
      url: `/manage/v1/${path}`,
      headers: { authorization: `Bearer ${key}` },
      ...(payload !== undefined && { payload }),
    });
    const body = answer.body === '' ? null : answer.json();
    return { status: answer.statusCode, body, code: body?.error?.code, details: body?.error?.details ?? [] };
  };

/** Creates a key of the publisher with only these permissions. */
export async function keyWith(t: TestBase, permissions: readonly string[], more: object = {}): Promise<string> {
  const response = await callsOf(t)('POST', 'keys', { name: permissions.join(' '), permissions, ...more });
  if (response.status !== 201) throw new Error(JSON.stringify(response.body));
  return response.body.data.key as string;
}

/** Publishes the drafts that are due. */
export async function runSchedule(t: TestBase): Promise<void> {
  const job = jobsOf(t.contributions, t.deps).find(({ name }) => name === 'scheduled drafts');
  if (job === undefined || !('run' in job)) throw new Error('no such job');
  await job.run(() => false);
}
