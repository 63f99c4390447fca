import formbody from '@fastify/formbody';
import { Type } from '@sinclair/typebox';
import type { App } from '../../platform/http/app.ts';
import { emptyBodyByDefault } from '../../platform/http/body-parsing.ts';
import { limitedCodes, toAppError } from '../../platform/http/error-handler.ts';
import type { FailureLimit } from '../../platform/http/failure-limit.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { microsToNumber } from '../../platform/money.ts';
import { imageAnswer, sendImage } from '../beacons/routes.ts';
import { isPrefetch } from '../verify-token.ts';
import { conversionBody, conversionQuery, readConversion } from './request.ts';
import { type ConversionDeps, createConversionService, type ReportResult } from './service.ts';

const trackPath = '/track';

const tags = ['Conversions'];
const booked = Type.Object({
  event: Type.String(),
  payout: Type.Number({
    description: 'Booked payout. Negative for a reversal. 0 for a suspicious click, or if `unbilled` is not 0.',
  }),
  unbilled: Type.Number({ description: 'Payout that was not booked, usually 0.' }),
  unbilled_reason: Type.Union([Type.Literal('budget'), Type.Literal('currency'), Type.Null()], {
    description:
      "Why the payout was not booked. `budget`: it exceeded the campaign's budget. `currency`: the publisher has " +
      "no exchange rate from `currency` to the campaign's currency. `null` if `unbilled` is 0.",
  }),
  currency: Type.String({ description: 'ISO 4217 code.' }),
  loyalty_amount: Type.Number({
    description: "Payout × the publisher's currency multiplier. 0 for offers without a reward.",
  }),
});
const answer = Type.Object(
  {
    message: Type.Union([Type.Literal('recorded'), Type.Literal('duplicate')]),
    data: Type.Union([booked, Type.Null()], { description: 'The booking, made now or by an earlier call.' }),
  },
  { title: 'ConversionAnswer' },
);
const response = { 200: answer, ...errorAnswers(400, 401, 404, 409, 413, 415) };
const refusedImage = imageAnswer('The report was rejected, and nothing is recorded.');
const imageAnswers = {
  200: imageAnswer('The conversion is recorded, now or by an earlier call.'),
  400: refusedImage,
  401: refusedImage,
  404: refusedImage,
  409: refusedImage,
};

type ConversionRoutes = ConversionDeps & { failures: FailureLimit };

/**
 * Registers the routes on which advertisers report conversions, server to server or with an image on a page
 * (docs/reference/tracking-and-conversions.md#conversions).
 */
export async function conversionRoutes(app: App, { failures, ...deps }: ConversionRoutes): Promise<void> {
  const conversions = createConversionService(deps);
  app.addHook('onClose', conversions.drain);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store').header('cross-origin-resource-policy', 'cross-origin');
  });
  await app.register(formbody);
  const shared = { tags, security: [], querystring: conversionQuery };
  const exposeHeadRoute = false; // HEAD requests must not count

  const get = {
    ...shared,
    operationId: 'reportConversionByLink',
    summary: 'Report a conversion with GET',
    description: 'Records a conversion for a click, once per `txn_id`. `void=1` reverses it.',
    response,
  };
  app.get(trackPath, { schema: get, exposeHeadRoute }, async (request) =>
    toAnswer(await conversions.record(readConversion(request.query, {}), request.trace)),
  );
  app.get(`${trackPath}/`, { schema: { ...get, hide: true }, exposeHeadRoute }, async (request) =>
    toAnswer(await conversions.record(readConversion(request.query, {}), request.trace)),
  );

  const post = {
    ...get,
    operationId: 'reportConversion',
    summary: 'Report a conversion',
    body: conversionBody,
    consumes: ['application/json', 'application/x-www-form-urlencoded'],
  };
  app.post(trackPath, { schema: post, preValidation: emptyBodyByDefault }, async (request) =>
    toAnswer(await conversions.record(readConversion(request.query, request.body), request.trace)),
  );
  const hidden = { ...post, hide: true };
  app.post(`${trackPath}/`, { schema: hidden, preValidation: emptyBodyByDefault }, async (request) =>
    toAnswer(await conversions.record(readConversion(request.query, request.body), request.trace)),
  );

  const pixel = {
    ...shared,
    operationId: 'reportConversionByImage',
    summary: 'Report a conversion with an image',
    description: "For advertisers' pages. The image does not reveal whether the click is known.",
    response: { ...imageAnswers, ...errorAnswers() },
  };
  app.get(`${trackPath}.png`, { schema: pixel, exposeHeadRoute, attachValidation: true }, async (request, reply) => {
    if (isPrefetch(request.headers)) return sendImage(reply);
    try {
      if (request.validationError) throw request.validationError;
      await conversions.record(readConversion(request.query, {}), request.trace);
    } catch (err) {
      const error = toAppError(err);
      if (error.status >= 500) throw err;
      if (limitedCodes.has(error.code)) {
        const limited = failures.charge(request.ip);
        if (limited !== null) throw limited;
      }
      reply.code(error.status as 400);
    }
    return sendImage(reply);
  });
}

const toAnswer = ({ message, booking }: ReportResult) => ({
  message,
  data: booking && {
    event: booking.event,
    payout: microsToNumber(booking.payoutMicros),
    unbilled: microsToNumber(booking.unbilledMicros),
    unbilled_reason: booking.unbilledReason,
    currency: booking.currency,
    loyalty_amount: microsToNumber(booking.loyaltyMicros),
  },
});
