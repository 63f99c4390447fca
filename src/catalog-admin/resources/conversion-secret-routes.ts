import { type Static, Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import { createConversionSecret } from '../../catalog/conversion-secret.ts';
import { audit } from '../../management/audit.ts';
import { callOf, type ManagementHttp, post, publisherQuery, requirePermission } from '../../management/http.ts';
import { idempotencyKey } from '../../management/resource-routes.ts';
import { refuseFields } from '../../management/strict-body.ts';
import type { Work } from '../../management/unit-of-work.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { advertisers } from './advertisers.ts';

const path = '/manage/v1/advertisers/:advertiser_id/conversion-secret';
const tags = ['Conversions'];
const params = Type.Object({ advertiser_id: Type.String() });
type AdvertiserRoute = { Params: Static<typeof params> };
const created = Type.Object({
  message: Type.String(),
  data: Type.Object({
    advertiser_id: Type.Integer(),
    secret: Type.String({ description: 'Secret (`cs_…`). It is shown only in this response.' }),
  }),
});
const removed = Type.Object({ message: Type.String(), data: Type.Object({ advertiser_id: Type.Integer() }) });

/**
 * Registers the routes for the secret with which an advertiser signs its conversion reports. If an advertiser has no
 * secret, a click ID is enough to report a conversion.
 */
export async function conversionSecretRoutes(app: App, http: ManagementHttp): Promise<void> {
  const hooks = { ...requirePermission(http, 'offers/management'), preHandler: refuseFields };

  const postSchema = {
    operationId: 'createConversionSecret',
    summary: 'Create a conversion secret',
    description:
      'Conversion reports of this advertiser must be signed with the secret from now on. A previous secret ' +
      'becomes invalid immediately.',
    tags,
    params,
    querystring: publisherQuery,
    headers: idempotencyKey,
    response: { 201: created, ...errorAnswers(400, 401, 403, 404, 422) },
  };
  app.post<AdvertiserRoute>(path, { schema: postSchema, ...hooks }, (request, reply) =>
    post(http, request, reply, async (work) => {
      const { secret, sealed } = createConversionSecret(http.secretBox);
      const id = await saveSecret(work, request, sealed);
      return { status: 201, body: { message: 'Secret created.', data: { advertiser_id: id, secret } }, headers: {} };
    }),
  );

  const response = { 200: removed, ...errorAnswers(400, 401, 403, 404) };
  const deleteSchema = {
    operationId: 'removeConversionSecret',
    summary: 'Remove a conversion secret',
    description: 'Conversion reports of this advertiser no longer need a signature.',
    tags,
    params,
    querystring: publisherQuery,
    response,
  };
  app.delete<AdvertiserRoute>(path, { schema: deleteSchema, ...hooks }, async (request) => {
    const { actor, publisherId } = callOf(request);
    const id = await http.management.write(actor, publisherId, (work) => saveSecret(work, request, null));
    return { message: 'Secret removed.', data: { advertiser_id: id } };
  });
}

/**
 * Sets or clears the conversion secret of one of the caller's advertisers. The audit log records whether a secret is
 * set, but never its value.
 * @returns the advertiser's ID
 * @throws AppError `advertiser_not_found`
 */
async function saveSecret(work: Work, { params }: FastifyRequest<AdvertiserRoute>, sealed: Buffer | null) {
  const { executor, publisherId } = work;
  const id = /^[1-9]\d{0,8}$/.test(params.advertiser_id) ? Number(params.advertiser_id) : 0;
  const { rows } = await executor.query<{ had_secret: boolean }>(
    `select conversion_secret_sealed is not null as had_secret from advertisers
    where id = $1 and publisher_id = $2 for update`,
    [id, publisherId],
  );
  if (rows[0] === undefined) throw new AppError('advertiser_not_found');
  const { had_secret: hadSecret } = rows[0];
  if (!hadSecret && sealed === null) return id;
  await executor.query('update advertisers set conversion_secret_sealed = $3 where id = $1 and publisher_id = $2', [
    id,
    publisherId,
    sealed,
  ]);
  await audit(work, {
    resource: advertisers,
    action: 'update',
    before: { id, conversion_secret: hadSecret ? 'set' : null },
    after: { id, conversion_secret: sealed === null ? null : hadSecret ? 'changed' : 'set' },
  });
  return id;
}
