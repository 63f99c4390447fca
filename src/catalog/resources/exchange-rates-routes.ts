import { Type } from '@sinclair/typebox';
import {
  callOf,
  fieldsOf,
  type ManagementHttp,
  publisherQuery,
  requirePermission,
  send,
} from '../../management/http.ts';
import { ifMatch } from '../../management/resource-routes.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import type { App } from '../../platform/ports.ts';
import { exchangeRatesInput, exchangeRatesView, getExchangeRates, setExchangeRates } from './exchange-rates.ts';
import { publishers } from './publishers.ts';

const path = '/manage/v1/exchange-rates';
const tags = ['Publishers'];
const answer = Type.Object({ message: Type.String(), data: exchangeRatesView }, { title: 'ExchangeRatesAnswer' });

/** Exchange rates of a publisher: converted totals, payouts in other currencies and ranking use them. */
export function exchangeRatesRoutes(app: App, http: ManagementHttp): void {
  const hooks = requirePermission(http, publishers.permission);
  const getSchema = {
    operationId: 'getExchangeRates',
    summary: "List a publisher's exchange rates",
    description: 'All rates with their base, and the reporting currency. With an ETag.',
    tags,
    querystring: publisherQuery,
    response: { 200: answer, ...errorAnswers(401, 403, 404) },
  };
  app.get(path, { schema: getSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const { view, etag } = await http.management.readMoment(actor, publisherId, getExchangeRates);
    return send(reply, { status: 200, body: { message: 'Exchange rates found.', data: view }, headers: { etag } });
  });

  const putSchema = {
    operationId: 'setExchangeRates',
    summary: "Set a publisher's exchange rates",
    description:
      'Replaces all rates. A rate holds from its day until the next one of its currency. What is booked does not ' +
      'change; converted totals of reports do.',
    tags,
    querystring: publisherQuery,
    headers: ifMatch,
    body: Type.Partial(exchangeRatesInput),
    response: { 200: answer, ...errorAnswers(400, 401, 403, 404, 412) },
  };
  app.put(path, { schema: putSchema, ...hooks }, async (request, reply) => {
    const { actor, publisherId } = callOf(request);
    const match = request.headers['if-match'] ?? null;
    const { view, etag } = await http.management.write(actor, publisherId, (work) =>
      setExchangeRates(work, fieldsOf(request), match),
    );
    return send(reply, { status: 200, body: { message: 'Exchange rates saved.', data: view }, headers: { etag } });
  });
}
