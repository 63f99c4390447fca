import { buildAppearance, buildSettings, buildStyles, privacyUrlOf } from '../../catalog/theme-settings.ts';
import type { Offer, Publisher, Theme } from '../../catalog/types.ts';
import type { AnswerPool } from './answer-pool.ts';
import { type AnswerContext, createOfferRenderer, type OfferRenderer, type RendererDeps } from './offer-renderer.ts';
import { asciiJson, joinParts, type Part } from './offer-template.ts';

/** One answered fetch, ready to be rendered as JSON. */
type Answer = AnswerContext & { offers: readonly Offer[] };

/**
 * One page of an offerwall. `position`: in its session, from 1. `token`: that of another session, where the offer was
 * shown before. `extra`: further members of `data`.
 */
type WallAnswer = Omit<AnswerContext, 'usp'> & {
  page: readonly { offer: Offer; position: number; token?: string }[];
  extra: Readonly<Record<string, unknown>>;
};

export type Renderer = Pick<OfferRenderer, 'prepare'> & {
  /** The answer's JSON (docs/interface.md#response), as bytes in memory of the pool. */
  render: (answer: Answer) => Buffer;
  /** The same for a page of an offerwall, with its further members. */
  renderWall: (answer: WallAnswer) => Promise<Buffer>;
};

/** The bytes of an answer before and after its session id. */
type Frame = readonly [beforeSession: Buffer, afterSession: Buffer];

/**
 * Renders answers. What does not depend on the request is rendered once for each offer of a snapshot; for each request
 * only the token is filled in; offers with macros are rendered for each request.
 */
export function createRenderer(deps: RendererDeps & { answers: AnswerPool }): Renderer {
  const offerRenderer = createOfferRenderer(deps);
  const frameOf = createFrames(deps.publicUrl);

  /** @param members further members of `data`, as JSON with a comma before each */
  function partsOf(answer: AnswerContext, offers: readonly Part[], members: string): Part[] {
    const [beforeSession, afterSession] = frameOf(answer.publisher, answer.theme, answer.usp);
    const parts: Part[] = ['{"data":{"offers":['];
    for (const [index, offer] of offers.entries()) {
      if (index > 0) parts.push(',');
      parts.push(offer);
    }
    parts.push(`],"count":${offers.length}${members}`, beforeSession, answer.sessionId, afterSession);
    return parts;
  }

  return {
    prepare: offerRenderer.prepare,
    render: (answer) => {
      const offers = answer.offers.map((offer, index) =>
        offerRenderer.render(answer, offer, offerRenderer.tokenOf(answer, offer, index + 1)),
      );
      return joinParts(partsOf(answer, offers, ''), deps.answers.take);
    },
    renderWall: async ({ page, extra, ...context }) => {
      const answer = { ...context, usp: false };
      const shown = page.map(({ offer }) => offer);
      await offerRenderer.prepare(answer.publisher, shown, answer.hasUser);
      const offers = page.map(({ offer, position, token }) =>
        offerRenderer.render(answer, offer, token ?? offerRenderer.tokenOf(answer, offer, position)),
      );
      const members = Object.entries(extra).map(([name, value]) => `,"${name}":${asciiJson(value)}`);
      return joinParts(partsOf(answer, offers, members.join('')), Buffer.allocUnsafe);
    },
  };
}

/** Frames with the settings and styles of a theme, rendered once for each publisher of a snapshot. */
function createFrames(publicUrl: string) {
  const frames = new WeakMap<Publisher, Map<string, Frame>>();
  return (publisher: Publisher, theme: Theme | null, usp: boolean): Frame => {
    let known = frames.get(publisher);
    if (known === undefined) {
      known = new Map();
      frames.set(publisher, known);
    }
    const key = `${theme?.id} ${usp}`;
    let frame = known.get(key);
    if (frame === undefined) {
      frame = renderFrame(publisher, theme, usp, publicUrl);
      known.set(key, frame);
    }
    return frame;
  };
}

function renderFrame(publisher: Publisher, theme: Theme | null, usp: boolean, publicUrl: string): Frame {
  const privacyUrl = privacyUrlOf(publisher, publicUrl);
  const settings = buildSettings(publisher, theme, usp, privacyUrl);
  const styles = { ...buildStyles(publisher, theme, privacyUrl), settings };
  const appearance = buildAppearance(theme);
  const more = appearance === null ? '' : `,"appearance":${asciiJson(appearance)}`;
  return [
    Buffer.from(`,"privacy_url":${asciiJson(privacyUrl)},"session_id":"`, 'latin1'),
    Buffer.from(`","settings":${asciiJson(settings)},"styles":${asciiJson(styles)}${more}}}`, 'latin1'),
  ];
}
