import { buildSettings, buildStyles } from '../../catalog/snapshot/theme-settings.ts';
import type { Offer, Publisher, Theme } from '../../catalog/snapshot/types.ts';
import type { TokenCodec } from '../../platform/security/tracking-token.ts';
import { fillCopy, hasMacros, type MacroValues } from './macros.ts';
import { hole, makeStencil, type Stencil, writeStencil } from './offer-template.ts';
import type { QrCodes } from './qr.ts';
import { buildOfferView, clickUrl } from './view.ts';

/** One answered fetch, ready to be written as JSON. */
export type Answer = {
  publisher: Publisher;
  theme: Theme | null;
  sessionId: string;
  dev: boolean;
  hasUser: boolean;
  usp: boolean;
  offers: readonly Offer[];
  macros: MacroValues;
};

/**
 * One page of an offerwall. `position`: in its session, from 1. `token`: that of another session, where the offer was
 * shown before.
 */
export type WallAnswer = Omit<Answer, 'offers' | 'usp'> & {
  page: readonly { offer: Offer; position: number; token?: string }[];
  /** Further members of `data`. */
  extra: Readonly<Record<string, unknown>>;
};

export type Renderer = {
  /** Makes what rendering these offers needs and does not have yet; undefined when there is nothing to wait for. */
  prepare: (publisher: Publisher, offers: readonly Offer[], hasUser: boolean) => Promise<unknown> | undefined;
  /** The answer's JSON (docs/interface.md#response), as bytes. */
  render: (answer: Answer) => Buffer;
  /** The same for a page of an offerwall, with its further members. */
  renderWall: (answer: WallAnswer) => Promise<Buffer>;
};

/** An offer at a publisher: what its QR code says, and its static text: without, and with a URL that saves it. */
type Compiled = { qrUrl: string; plain: Stencil | null; saveable: Stencil | null };

/** A part of an answer: one-byte text, or an offer with its token. */
type Part = string | Buffer | { stencil: Stencil; token: string };

const variantFor = (hasUser: boolean): 'plain' | 'saveable' => (hasUser ? 'saveable' : 'plain');

/** A token has one byte for it; offers further down an offerwall count as the last. */
const maxPosition = 255;

type RendererDeps = { publicUrl: string; tokens: TokenCodec; qrCodes: QrCodes };

/**
 * Writes answers. What does not depend on the request is written once for each offer of a snapshot; for each request
 * only
 * the token is filled in, and offers with macros are written anew.
 */
export function createRenderer({ publicUrl, tokens, qrCodes }: RendererDeps): Renderer {
  /**
   * By what a text depends on beside the offer itself; offers that did not change are the same objects in the next
   * snapshot.
   */
  const compiledOffers = new WeakMap<Offer, Map<number, Compiled>>();
  const frames = new WeakMap<Publisher, Map<string, [Buffer, Buffer]>>();

  function compiledOf(publisher: Publisher, offer: Offer): Compiled {
    let ofOffer = compiledOffers.get(offer);
    if (ofOffer === undefined) {
      ofOffer = new Map();
      compiledOffers.set(offer, ofOffer);
    }
    const key = publisher.id * 4 + (publisher.walletEnabled ? 2 : 0) + (publisher.offerwallEnabled ? 1 : 0);
    let compiled = ofOffer.get(key);
    if (compiled === undefined) {
      compiled = { qrUrl: qrUrlOf(publisher, offer), plain: null, saveable: null };
      ofOffer.set(key, compiled);
    }
    return compiled;
  }

  /** The campaign's click URL for this publisher; it belongs to no session. */
  function qrUrlOf(publisher: Publisher, offer: Offer): string {
    const { id: offerId, campaign } = offer;
    const claims = {
      publisherId: publisher.id,
      sessionId: null,
      offerId,
      campaignId: campaign.id,
      position: 0,
      dev: false,
    };
    return clickUrl(publicUrl, tokens.mint(claims));
  }

  type Shared = Omit<Answer, 'offers'>;

  function view(answer: Shared, offer: Offer, token: string) {
    const { publisher, hasUser } = answer;
    const qrCode = qrCodes.get(compiledOf(publisher, offer).qrUrl) ?? '';
    return buildOfferView({
      offer,
      publisher,
      copy: fillCopy(offer.copy, answer.macros),
      token,
      hasUser,
      qrCode,
      publicUrl,
    });
  }

  function compile(answer: Shared, offer: Offer): Stencil {
    const compiled = compiledOf(answer.publisher, offer);
    const variant = variantFor(answer.hasUser);
    compiled[variant] ??= makeStencil(asciiJson(view(answer, offer, hole)));
    return compiled[variant];
  }

  const tokenOf = (answer: Shared, offer: Offer, position: number): string =>
    tokens.mint({
      publisherId: answer.publisher.id,
      sessionId: answer.sessionId,
      offerId: offer.id,
      campaignId: offer.campaign.id,
      position: Math.min(position, maxPosition),
      dev: answer.dev,
    });

  const renderOffer = (answer: Shared, offer: Offer, token: string): Part =>
    hasMacros(offer.copy) ? asciiJson(view(answer, offer, token)) : { stencil: compile(answer, offer), token };

  /** What stands before and after the session id. */
  function frame({ publisher, theme, usp }: Shared): [Buffer, Buffer] {
    let known = frames.get(publisher);
    if (known === undefined) {
      known = new Map();
      frames.set(publisher, known);
    }
    const key = `${theme?.id} ${usp}`;
    let parts = known.get(key);
    if (parts === undefined) {
      const privacyUrl = privacyUrlOf(publisher, publicUrl);
      const settings = buildSettings(publisher, theme, usp, privacyUrl);
      const styles = { ...buildStyles(publisher, theme, privacyUrl), settings };
      parts = [
        Buffer.from(`,"privacy_url":${asciiJson(privacyUrl)},"session_id":"`, 'latin1'),
        Buffer.from(`","settings":${asciiJson(settings)},"styles":${asciiJson(styles)}}}`, 'latin1'),
      ];
      known.set(key, parts);
    }
    return parts;
  }

  function prepare(publisher: Publisher, offers: readonly Offer[], hasUser: boolean): Promise<unknown> | undefined {
    const variant = variantFor(hasUser);
    let missing: Promise<unknown>[] | undefined;
    for (const offer of offers) {
      const { qrUrl, [variant]: stencil } = compiledOf(publisher, offer);
      if (stencil !== null || qrCodes.get(qrUrl) !== undefined) continue;
      missing ??= [];
      missing.push(qrCodes.make(qrUrl));
    }
    return missing === undefined ? undefined : Promise.all(missing);
  }

  /** The whole answer: its offers, the members of `data` between them and the frame, and the frame. */
  function write(answer: Shared, offers: readonly Part[], members: string): Buffer {
    const [beforeSession, afterSession] = frame(answer);
    const parts: Part[] = ['{"data":{"offers":['];
    for (const [index, offer] of offers.entries()) {
      if (index > 0) parts.push(',');
      parts.push(offer);
    }
    parts.push(`],"count":${offers.length}${members}`, beforeSession, answer.sessionId, afterSession);
    return join(parts);
  }

  return {
    prepare,
    render: (answer) => {
      const offers = answer.offers.map((offer, index) => renderOffer(answer, offer, tokenOf(answer, offer, index + 1)));
      return write(answer, offers, '');
    },
    renderWall: async ({ page, extra, ...given }) => {
      const answer = { ...given, usp: false };
      await prepare(
        answer.publisher,
        page.map(({ offer }) => offer),
        answer.hasUser,
      );
      const offers = page.map(({ offer, position, token }) =>
        renderOffer(answer, offer, token ?? tokenOf(answer, offer, position)),
      );
      const members = Object.entries(extra).map(([name, value]) => `,"${name}":${asciiJson(value)}`);
      return write(answer, offers, members.join(''));
    },
  };
}

function join(parts: readonly Part[]): Buffer {
  let length = 0;
  for (const part of parts) length += (isOffer(part) ? part.stencil.bytes : part).length;
  const answer = Buffer.allocUnsafe(length);
  let at = 0;
  for (const part of parts) {
    if (isOffer(part)) at = writeStencil(part.stencil, part.token, answer, at);
    else if (typeof part === 'string') at += answer.write(part, at, 'latin1');
    else {
      answer.set(part, at);
      at += part.length;
    }
  }
  return answer;
}

const isOffer = (part: Part): part is { stencil: Stencil; token: string } =>
  typeof part === 'object' && !Buffer.isBuffer(part);

/** JSON with everything beyond ASCII escaped: one byte a character, so that an answer becomes bytes by a plain copy. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** The publisher's own privacy page, else the one served here. */
export const privacyUrlOf = (publisher: Publisher, publicUrl: string): string =>
  publisher.privacyUrl ?? `${publicUrl}/privacy/${publisher.sdkId}`;
