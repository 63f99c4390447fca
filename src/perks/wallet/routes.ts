import { Type } from '@sinclair/typebox';
import { type Caller, callerOf } from '../../accounts/caller.ts';
import { offerSchema } from '../../offers/answer-schemas.ts';
import { createQrCodes } from '../../offers/qr.ts';
import { AppError } from '../../platform/errors.ts';
import type { App } from '../../platform/http/app.ts';
import type { Authenticator } from '../../platform/http/auth.ts';
import { errorAnswers, noNulNotBlank } from '../../platform/http/schemas.ts';
import { readConsent } from '../../platform/lib/consent.ts';
import { recipientOf } from '../recipient.ts';
import { walletErrorPages } from './error-pages.ts';
import { createWalletService, type WalletDeps, type WalletOwner, type WalletService } from './service.ts';

const tags = ['Wallet'];
const savePath = '/wallet/v1/save.json';

const saveAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({
    saved: Type.Boolean(),
    wallet_url: Type.String({ format: 'uri', description: "Signed link to the page with the user's saved offers." }),
  }),
});

const walletQuery = Type.Object({
  api_key: Type.Optional(Type.String({ description: 'API key with `wallet`.' })),
  pub_user_id: Type.String({
    maxLength: 256,
    pattern: noNulNotBlank,
    description: "Publisher's ID of the user who owns the wallet.",
  }),
});

const savedOffer = Type.Object({
  ...offerSchema.properties,
  saved_at: Type.String({ format: 'date-time' }),
  state: Type.Union([Type.Literal('active'), Type.Literal('expired')], {
    description: 'State of the offer. `expired`: paused or removed since it was saved.',
  }),
});
const listAnswer = Type.Object({
  data: Type.Object({
    offers: Type.Array(savedOffer),
    count: Type.Integer(),
    wallet_url: Type.String({
      format: 'uri',
      description: "Signed link to the page with the user's saved offers. Valid for 60 days.",
    }),
  }),
});
const removeAnswer = Type.Object({
  message: Type.String(),
  data: Type.Object({ removed: Type.Boolean(), offer_id: Type.Integer() }),
});

/**
 * Registers the routes for saving an offer with its save URL, and for the publisher's access to a user's wallet
 * (docs/reference/perks-and-wallet.md#wallet).
 */
export async function walletRoutes(
  app: App,
  { auth, ...deps }: WalletDeps & { auth: Authenticator<Caller> },
): Promise<void> {
  const wallet = createWalletService(deps);
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  await app.register(saveRoutes, { wallet });
  await app.register(listRoutes, { wallet, auth });
}

/**
 * The query schema is for documentation only, so that a malformed query is reported as an invalid token and not as a
 * validation error.
 */
const unvalidated = { validatorCompiler: () => () => true, config: { errorPages: walletErrorPages } };

/** DELETE is included, because web pages call it after a CORS preflight (docs/reference/fetch-offers.md#request). */
const corsMethods = ['GET', 'DELETE', 'OPTIONS'];

const reminderBody = Type.Partial(
  Type.Object(
    {
      consent: Type.Unknown({
        description:
          'Whether the user asked for a reminder by e-mail (see `email`): true, 1, "true", "1", "yes" or ' +
          '"granted".',
      }),
      email: Type.String({
        maxLength: 254,
        description: 'Address for the reminder. It is stored encrypted until the reminder is sent.',
      }),
      language: Type.String({ maxLength: 35, description: "BCP 47 tag of the e-mail's language." }),
    },
    { title: 'Reminder' },
  ),
);

function jsonOrNothing(body: string | Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** Returns the body fields that request a reminder. Ignores other fields and values of the wrong type. */
function askedOf(body: unknown) {
  const { consent, email, language } = (typeof body === 'object' && body !== null ? body : {}) as Record<
    string,
    unknown
  >;
  return {
    consent: readConsent(consent) === 'granted',
    ...(typeof email === 'string' ? { email } : {}),
    ...(typeof language === 'string' ? { language } : {}),
  };
}

async function saveRoutes(app: App, { wallet }: { wallet: WalletService }): Promise<void> {
  // Accept any body, but parse only JSON.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, jsonOrNothing(body)));
  const querystring = Type.Object({
    t: Type.Optional(Type.String({ description: 'Signed token of the offer in its session.' })),
  });
  const tokenOf = (query: unknown): unknown => (query as { t?: unknown }).t;

  const postSchema = {
    operationId: 'saveOffer',
    security: [],
    summary: 'Save an offer',
    description:
      'Saves the offer of the token for the user it was shown to. Repeating the call returns the same response. ' +
      'With a body, the user gets a reminder before the offer ends.',
    tags,
    querystring,
    body: reminderBody,
    response: { 200: saveAnswer, ...errorAnswers(400, 403, 413) },
  };
  app.post(savePath, { schema: postSchema, ...unvalidated }, async (request) => {
    const reminderRequest = askedOf(request.body);
    const recipient = reminderRequest.consent ? recipientOf(reminderRequest, request.headers) : null;
    const walletUrl = await wallet.save(tokenOf(request.query), request.trace, recipient);
    return { message: 'Offer saved successfully', data: { saved: true, wallet_url: walletUrl } };
  });

  const redirect = {
    description:
      'Redirect to the page with the saved offers, where the user can save this offer. The call itself saves ' +
      'nothing.',
  };
  const getSchema = {
    operationId: 'openWallet',
    security: [],
    summary: 'Open the wallet page',
    description: 'Redirects to the page where the user can save this offer. The call itself saves nothing.',
    tags,
    querystring,
    response: {
      200: { description: 'Page after the redirect.' },
      302: redirect,
      ...errorAnswers(400, 403),
    },
  };
  app.get(savePath, { schema: getSchema, ...unvalidated }, async (request, reply) => {
    const token = tokenOf(request.query);
    const pageUrl = await wallet.pageOf(token);
    return reply
      .code(302)
      .header('location', `${pageUrl}&save=${String(token)}`)
      .send();
  });
}

async function listRoutes(
  app: App,
  { wallet, auth }: { wallet: WalletService; auth: Authenticator<Caller> },
): Promise<void> {
  const preValidation = auth.requireKey('wallet');
  const qrCodes = createQrCodes();
  const shared = { tags, querystring: walletQuery };

  const listSchema = {
    ...shared,
    operationId: 'listSavedOffers',
    summary: "List a user's saved offers",
    description: 'Returns saved offers, newest first, including expired ones (see `state`).',
    response: { 200: listAnswer, ...errorAnswers(400, 401, 403) },
  };
  app.get('/wallet/v1/offers.json', { preValidation, schema: listSchema }, async (request) => {
    const owner = await ownerOf(wallet, callerOf(request).publisher.id, request.query.pub_user_id);
    const saved = await wallet.list(owner);
    const walletUrl = wallet.pageFor(owner);
    const offers = saved.map(({ view, qrUrl, savedAt, state, coupon }) => ({
      ...view,
      // An expired offer links to the wallet page, which indicates that the offer has expired.
      click_url: state === 'active' ? view.click_url : walletUrl,
      tags: [...view.tags],
      qr_code_img: qrCodes(qrUrl),
      saved_at: savedAt.toISOString(),
      state,
      ...(coupon === null ? {} : { coupon }),
    }));
    return { data: { offers: offers as never[], count: offers.length, wallet_url: walletUrl } };
  });

  const removeSchema = {
    ...shared,
    operationId: 'removeSavedOffer',
    summary: 'Remove a saved offer',
    description: 'Removes the offer and sends the webhook `offer.removed`.',
    params: Type.Object({ offer_id: Type.String() }),
    response: { 200: removeAnswer, ...errorAnswers(400, 401, 403, 404) },
  };
  app.options(
    '/wallet/v1/offers/:offer_id.json',
    { schema: { hide: true }, config: { cors: { methods: corsMethods } } },
    async () => '',
  );
  app.delete('/wallet/v1/offers/:offer_id.json', { preValidation, schema: removeSchema }, async (request) => {
    const owner = await ownerOf(wallet, callerOf(request).publisher.id, request.query.pub_user_id);
    const offerId = /^[1-9]\d{0,8}$/.test(request.params.offer_id) ? Number(request.params.offer_id) : 0;
    if (offerId === 0 || !(await wallet.remove(owner, offerId, request.trace)))
      throw new AppError('saved_offer_not_found');
    return { message: 'Offer removed', data: { removed: true, offer_id: offerId } };
  });
}

/** Normalise the user ID as in fetch-offers, so that the same string identifies the same user. */
const ownerOf = (wallet: WalletService, publisherId: number, pubUserId: string): Promise<WalletOwner> =>
  wallet.ownerOf(publisherId, pubUserId.toWellFormed().trim());
