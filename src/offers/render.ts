import { randomUUID } from 'node:crypto';
import type { Offer, Publisher, Theme } from '../catalog/types.ts';
import type { TokenCodec } from '../tracking/token.ts';
import type { AnswerPool } from './answer-pool.ts';
import { fillCopy, hasMacros, type MacroValues } from './macros.ts';
import type { QrCodes } from './qr.ts';
import { buildSettings, buildStyles } from './settings.ts';
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

/** One page of an offerwall. `position`: in its session, from 1. `token`: that of another session, where the offer was shown before. */
export type WallAnswer = Omit<Answer, 'offers' | 'usp'> & {
  page: readonly { offer: Offer; position: number; token?: string }[];
  /** Further members of `data`. */
  extra: Readonly<Record<string, unknown>>;
};

export type Renderer = {
  /** Makes what rendering these offers needs and does not have yet; undefined when there is nothing to wait for. */
  prepare: (publisher: Publisher, offers: readonly Offer[]) => Promise<unknown> | undefined;
  /** The answer's JSON (specification 2.2), as bytes in memory of the pool. */
  render: (answer: Answer) => Buffer;
  /** The same for a page of an offerwall, with its further members. */
  renderWall: (answer: WallAnswer) => Promise<Buffer>;
};

/** An offer at a publisher: what its QR code says, and its static text, cut where the token goes: without, and with a URL that saves it. */
type Compiled = { qrUrl: string; plain: string[] | null; saveable: string[] | null };

/** A token has one byte for it; offers further down an offerwall count as the last. */
const maxPosition = 255;

/** Stands for the token while an offer is compiled. */
const hole = `token-${randomUUID()}`;

type RendererDeps = { publicUrl: string; tokens: TokenCodec; qrCodes: QrCodes; pool: AnswerPool };

/**
 * Writes answers. What does not depend on the request is written once for each offer of a snapshot; for each request only
 * the token is filled in, and offers with macros are written anew.
 */
export function createRenderer({ publicUrl, tokens, qrCodes, pool }: RendererDeps): Renderer {
  /** By what a text depends on beside the offer itself; offers that did not change are the same objects in the next snapshot. */
  const compiledOffers = new WeakMap<Offer, Map<number, Compiled>>();
  const frames = new WeakMap<Publisher, Map<string, [string, string]>>();

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
    const claims = { publisherId: publisher.id, sessionId: null, offerId, campaignId: campaign.id, position: 0, dev: false };
    return clickUrl(publicUrl, tokens.mint(claims));
  }

  type Shared = Omit<Answer, 'offers'>;

  function view(answer: Shared, offer: Offer, token: string) {
    const { publisher, hasUser } = answer;
    const qrCode = qrCodes.get(compiledOf(publisher, offer).qrUrl) ?? '';
    return buildOfferView({ offer, publisher, copy: fillCopy(offer.copy, answer.macros), token, hasUser, qrCode, publicUrl });
  }

  function compile(answer: Shared, offer: Offer): string[] {
    const compiled = compiledOf(answer.publisher, offer);
    const variant = answer.hasUser ? 'saveable' : 'plain';
    compiled[variant] ??= asciiJson(view(answer, offer, hole)).split(hole);
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

  function renderOffer(answer: Shared, offer: Offer, token: string): string {
    if (hasMacros(offer.copy)) return asciiJson(view(answer, offer, token));
    return compile(answer, offer).join(token);
  }

  /** What stands before and after the session id. */
  function frame({ publisher, theme, usp }: Shared): [string, string] {
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
        `,"privacy_url":${asciiJson(privacyUrl)},"session_id":"`,
        `","settings":${asciiJson(settings)},"styles":${asciiJson(styles)}}}`,
      ];
      known.set(key, parts);
    }
    return parts;
  }

  function prepare(publisher: Publisher, offers: readonly Offer[]): Promise<unknown> | undefined {
    const missing = offers.map((offer) => compiledOf(publisher, offer).qrUrl).filter((url) => qrCodes.get(url) === undefined);
    return missing.length === 0 ? undefined : Promise.all(missing.map((url) => qrCodes.make(url)));
  }

  return {
    prepare,
    render: (answer) => {
      let offers = '';
      answer.offers.forEach((offer, index) => {
        offers += (index === 0 ? '' : ',') + renderOffer(answer, offer, tokenOf(answer, offer, index + 1));
      });
      const [beforeSession, afterSession] = frame(answer);
      const json = `{"data":{"offers":[${offers}],"count":${answer.offers.length}${beforeSession}${answer.sessionId}${afterSession}`;
      return pool.write(json);
    },
    renderWall: async ({ page, extra, ...given }) => {
      const answer = { ...given, usp: false };
      await prepare(
        answer.publisher,
        page.map(({ offer }) => offer),
      );
      const offers = page.map(({ offer, position, token }) => renderOffer(answer, offer, token ?? tokenOf(answer, offer, position)));
      const [beforeSession, afterSession] = frame(answer);
      const members = Object.entries(extra).map(([name, value]) => `,"${name}":${asciiJson(value)}`);
      const json = `{"data":{"offers":[${offers}],"count":${page.length}${members.join('')}${beforeSession}${answer.sessionId}${afterSession}`;
      return pool.write(json);
    },
  };
}

/** JSON with everything beyond ASCII escaped: one byte a character, so that an answer becomes bytes by a plain copy. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u0080-\uffff]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The publisher's own privacy page, else the one served here. */
export const privacyUrlOf = (publisher: Publisher, publicUrl: string): string =>
  publisher.privacyUrl ?? `${publicUrl}/privacy/${publisher.sdkId}`;
