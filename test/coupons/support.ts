import type { TestBase } from '../support/test-modules.ts';

type Body = { data: Record<string, unknown>; error?: { details?: { path: string }[] } };
export type CouponResponse = { status: number; body: Body; data: Body['data'] };

/** Returns the coupon calls for a publisher's key. */
export function couponCalls({ app }: Pick<TestBase, 'app'>, key = 'demo-key') {
  async function call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ): Promise<CouponResponse> {
    const isFile = typeof body === 'string' || Buffer.isBuffer(body);
    const answer = await app.inject({
      method,
      url: `/manage/v1/offers/${path}`,
      headers: { authorization: `Bearer ${key}`, ...(isFile ? { 'content-type': 'text/csv' } : {}) },
      ...(body === undefined ? {} : { payload: body as object }),
    });
    const json = answer.json<Body>();
    return { status: answer.statusCode, body: json, data: json.data };
  }
  return {
    add: (offer: number | string, body: unknown) => call('POST', `${offer}/coupon-codes`, body),
    count: (offer: number | string) => call('GET', `${offer}/coupon-codes`),
    removeCodes: (offer: number | string) => call('DELETE', `${offer}/coupon-codes`),
    pool: (offer: number | string) => call('GET', `${offer}/coupon-pool`),
    change: (offer: number | string, body: unknown) => call('PATCH', `${offer}/coupon-pool`, body),
    removePool: (offer: number | string) => call('DELETE', `${offer}/coupon-pool`),
  };
}
