import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, callerOf } from '../../accounts/caller.ts';
import { forLimitedKeys } from '../../management/http.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { emptyBodyByDefault, textOrNull } from '../../platform/http/body-parsing.ts';
import { errorAnswers } from '../../platform/http/schemas.ts';
import { readConsent } from '../../platform/lib/consent.ts';
import { problem } from '../../platform/problem.ts';
import { recipientOf } from '../recipient.ts';
import type { SelectionChange, UspSession } from '../usp-sessions.ts';
import { actionBody, campaignParams, changesBody, sessionParams, sessionView, userBody, uspQuery } from './schemas.ts';
import { createUspService, type UspCall, type UspDeps } from './service.ts';

const description =
  'Works for offers that the session has shown, until the session is wrapped. Repeating the call has no effect.';

const toggles = [
  { action: 'select', to: 'selected', operationId: 'selectOffer', summary: 'Select an offer' },
  { action: 'unselect', to: 'unselected', operationId: 'unselectOffer', summary: 'Unselect an offer' },
] as const;

const noChange: SelectionChange = { selected: [], unselected: [] };

const sessionPath = '/sdk/v4/usp/session/:session_id.json';
const tags = ['User Selected Perks'];
const response = { 200: sessionView, ...errorAnswers(400, 401, 403, 404, 409, 413, 415) };

/** Registers the routes of User Selected Perks (docs/reference/perks-and-wallet.md#user-selected-perks). */
export async function uspRoutes(app: App, { auth, ...deps }: UspDeps & { auth: Authenticator<Caller> }): Promise<void> {
  const usp = createUspService(deps);
  const preValidation = auth.requireKey('ads/offers');
  const shared = { tags, querystring: uspQuery, response };
  const hooks = { preValidation, ...forLimitedKeys };
  app.addHook('onRequest', noStore);
  app.addHook('preValidation', emptyBodyByDefault);

  for (const { action, to, operationId, summary } of toggles) {
    const url = `/sdk/v4/usp/:session_id/:campaign_id/${action}.json`;
    const schema = { ...shared, operationId, summary, description, params: campaignParams, body: userBody };
    app.post(url, { ...hooks, schema }, async (request) => {
      const { session_id, campaign_id } = request.params;
      const data = await usp.change(callOf(request, session_id), (session) => ({
        ...noChange,
        [to]: shownIn(session, [campaign_id]),
      }));
      return { message: `Offer ${to}`, data };
    });
  }

  const changeSchema = {
    ...shared,
    operationId: 'changeSelection',
    summary: 'Change the selection',
    description: 'Selects and unselects several offers in one call. Either all changes are applied or none.',
    params: sessionParams,
    body: changesBody,
  };
  app.put(sessionPath, { ...hooks, schema: changeSchema }, async (request) => {
    const data = await usp.change(callOf(request, request.params.session_id), changeOf(request.body));
    return { message: 'Selection changed', data };
  });

  const getSchema = {
    ...shared,
    operationId: 'getPerksSession',
    summary: 'Get the session',
    description: 'Returns the offers that the session has shown, and whether each is selected.',
    params: sessionParams,
  };
  app.get(sessionPath, { ...hooks, schema: getSchema }, async (request) => {
    const data = await usp.get(callOf(request, request.params.session_id));
    return { message: 'Session found', data };
  });

  const wrapSchema = {
    ...shared,
    operationId: 'wrapSession',
    summary: 'Wrap the session',
    description:
      'Closes the selection and queues the webhook in the same transaction: after a 200 response it will be ' +
      'sent. Repeating the call has no effect.',
    params: sessionParams,
    body: actionBody,
  };
  app.post(sessionPath, { ...hooks, schema: wrapSchema }, async (request) => {
    const call = callOf(request, request.params.session_id);
    const { body, headers } = request;
    const recipient = readConsent(body.consent) === 'granted' ? recipientOf(body, headers) : null;
    const data = await usp.wrap(call, changeOf(body), recipient);
    return { message: 'Session wrapped', data };
  });
}

async function noStore(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.header('cache-control', 'no-store');
}

function callOf(request: FastifyRequest, sessionId: string): UspCall {
  const body = request.body as { pub_user_id?: string | number };
  const query = request.query as { pub_user_id?: string };
  // Normalise the user ID as in fetch-offers, so that the same string identifies the same user.
  const pubUserId = textOrNull(body.pub_user_id) ?? textOrNull(query.pub_user_id);
  return { caller: callerOf(request), sessionId, pubUserId, trace: request.trace };
}

/**
 * Parses a selection change.
 * @throws AppError invalid_request, campaign_not_in_session
 */
function changeOf({
  selected = [],
  unselected = [],
}: Partial<SelectionChange>): (session: UspSession) => SelectionChange {
  refuseContradiction(selected, unselected);
  return (session) => ({ selected: shownIn(session, selected), unselected: shownIn(session, unselected) });
}

/**
 * Rejects changes that both select and unselect a campaign.
 * @throws AppError invalid_request if an ID is in both lists
 */
function refuseContradiction(selected: readonly number[], unselected: readonly number[]): void {
  if (!selected.some((id) => unselected.includes(id))) return;
  const message = problem('bothSelected');
  throw new AppError('invalid_request', { details: [{ path: '/unselected', message }] });
}

/**
 * Returns the given campaign IDs as numbers. Any ID that the session did not show is treated as an unknown campaign,
 * whether or not the campaign exists (docs/reference/access-and-errors.md#unknown-campaigns).
 * @param ids campaign IDs from the path or body
 * @throws AppError campaign_not_in_session (404)
 */
const shownIn = ({ campaignIds }: UspSession, ids: readonly (number | string)[]): number[] =>
  ids.map((text) => {
    const id = campaignIds.find((campaignId) => String(campaignId) === String(text));
    if (id === undefined) throw new AppError('campaign_not_in_session');
    return id;
  });
