import { Type } from '@sinclair/typebox';
import type { App } from '../platform/http/app.ts';
import { errorAnswers } from '../platform/http/schemas.ts';
import { type Redemption, type RedemptionDeps, recordRedemption, redemptionBody } from './redemption.ts';

const answer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    offer_id: Type.Integer(),
    status: Type.Union([Type.Literal('redeemed'), Type.Literal('cancelled')]),
    changed: Type.Boolean({ description: 'Whether the call changed anything. false if this was reported before.' }),
  }),
});

const texts: Record<Redemption, { operationId: string; summary: string; description: string }> = {
  redeemed: {
    operationId: 'reportCouponRedeemed',
    summary: 'Report a redeemed code',
    description:
      'Reports that a code was redeemed, signed with the conversion secret. Repeating the report has no effect.',
  },
  cancelled: {
    operationId: 'reportCouponCancelled',
    summary: 'Report a cancelled code',
    description: 'Reverses a redemption and invalidates the code. Repeating the report has no effect.',
  },
};

/**
 * Registers the routes through which advertisers report redemptions (docs/reference/perks-and-wallet.md#redemptions).
 */
export async function redemptionRoutes(app: App, deps: RedemptionDeps): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  for (const status of ['redeemed', 'cancelled'] as const) {
    const schema = {
      ...texts[status],
      tags: ['Coupons'],
      security: [],
      body: redemptionBody,
      response: { 200: answer, ...errorAnswers(400, 401, 404, 409, 415) },
    };
    app.post(`/coupons/v1/${status}.json`, { schema }, async (request) => {
      const data = await recordRedemption(deps, request.body, status);
      return { message: data.changed ? 'Recorded.' : 'Recorded before.', data };
    });
  }
}
