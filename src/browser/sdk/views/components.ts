import { urlOf } from '../answer.ts';
import { sanitise } from '../sanitise.ts';
import type { Actions, Labels, Offer, OffersResponse } from '../types.ts';
import { anchor, button, type Child, h, newId } from './dom.ts';

/** Context passed to every view. */
export type ViewContext = {
  answer: OffersResponse;
  labels: Labels;
  actions: Actions;
  /** Base URL of the service and its images. */
  base: string;
  /** Called for every clicked link before the browser follows it. */
  onLink: (url: string, event: Event) => void;
};

/** Returns whether a click is the second click of a double click, which would hit the next offer. */
const isRepeatedClick = (event: Event): boolean => (event as MouseEvent).detail > 1;

const link = (context: ViewContext, url: string, text: string, className: string): Child =>
  url && text && anchor(url, className, (event) => context.onLink(url, event), text, newTab(context));

const newTab = ({ labels }: ViewContext): HTMLElement => h('span', 'sr', ` ${labels.newTab}`);

/** Renders the positive call to action. It is a real link, because pop-up blockers do not block links. */
export function yesButton(context: ViewContext, offer: Offer, className = 'btn yes'): HTMLElement {
  const { styles, settings } = context.answer;
  const shimmer = settings.enable_effect_shimmer_pos_cta ? ' shimmer' : '';
  const style = / ?(bold|italic|uppercase)?/.exec(` ${styles.offerText.cta_text_style}`)?.[0] ?? '';
  const click = (event: Event): void => {
    if (isRepeatedClick(event)) event.preventDefault();
    else {
      context.onLink(offer.click_url, event);
      context.actions.take(offer);
    }
  };
  return anchor(offer.click_url, className + shimmer + style, click, offer.cta_yes, newTab(context));
}

export const noButton = ({ actions }: ViewContext, offer: Offer, className = 'btn no'): HTMLElement =>
  button(className, (event) => isRepeatedClick(event) || actions.reject(offer), offer.cta_no);

export const brand = ({ answer }: ViewContext, { advertiser_name: name }: Offer): Child =>
  !answer.styles.offerText.hide_adv_name && name && h('p', 'brand', name);

export const loyalty = ({ is_loyalty, loyalty_requirements: text }: Offer): Child =>
  is_loyalty && text && h('p', 'loyalty', h('span', '', text));

const userAction = (context: ViewContext, offer: Offer, className: string): Child =>
  link(context, offer.useraction_url, offer.useraction_cta, className);

const canSave = ({ answer: { settings } }: ViewContext, offer: Offer): boolean =>
  settings.enable_wallet && offer.wallet_enabled && offer.save_for_later_url !== '';

/**
 * Renders the third action on a card, which saves the offer for later or, if that is not available, is the offer's own
 * action.
 */
export const thirdAction = (context: ViewContext, offer: Offer, className: string): Child =>
  canSave(context, offer) ? saveForLater(context, offer, className) : userAction(context, offer, className);

/** Renders the last row of a card, with its secondary action and the terms. */
export const lastRow = (context: ViewContext, offer: Offer, quiet: Child): HTMLElement =>
  h('div', 'row', quiet, terms(context, offer));

function saveForLater(context: ViewContext, offer: Offer, className: string): HTMLElement {
  const { perkswallet_cta: label, saved_offer_text: saved } = context.answer.settings;
  const click = async (): Promise<void> => {
    if (saveButton.getAttribute('aria-disabled') === 'true') return;
    saveButton.setAttribute('aria-disabled', 'true');
    const done = await context.actions.save(offer);
    if (done) saveButton.textContent = saved;
    else saveButton.setAttribute('aria-disabled', 'false');
  };
  const saveButton = button(`${className} save`, click, label);
  return saveButton;
}

/**
 * Renders the dialog with the full terms, which are not shown initially (docs/reference/fetch-offers.md#offer-object).
 * It also contains any action that does not fit on the card.
 */
function terms(context: ViewContext, offer: Offer): HTMLElement | null {
  const click = (event: Event): void => {
    const target = (event.target as Element).closest('a');
    if (target !== null) context.onLink(target.href, event);
  };
  const html = offer.terms_and_conditions.trim();
  const text = html && h('div', { class: 'terms-text', click });
  const further = canSave(context, offer) && userAction(context, offer, 'quiet');
  if (!text && !further) return null;
  const summary = h('summary', '', html ? context.labels.terms : offer.useraction_cta);
  const details = h('details', 'terms', summary, text, further);
  // Parse and sanitise the terms only when they are opened, because most users never open them.
  const fill = (): void => {
    if (text) text.append(sanitise(html, context.answer.terms));
  };
  details.addEventListener('toggle', fill, { once: true });
  return details;
}

export const miniText = ({ mini_text: text }: Offer): Child => text && h('p', 'mini', text);

/** Creates a heading that receives the focus when its offer appears. */
export const title = (text: string): { element: HTMLElement; id: string } => {
  const id = newId();
  return { element: h('h3', { id, class: 'title', tabindex: -1 }, text), id };
};

export function header({ styles }: OffersResponse, headingId: string): HTMLElement {
  const { text, lead_in_text: lead } = styles.header;
  return h('header', 'header', h('h2', { id: headingId, class: 'heading' }, text), lead && h('p', 'lead', lead));
}

/**
 * Renders the footer with the disclaimer and the links to all offers and to the privacy pages of the service and the
 * publisher.
 */
export function footer(answer: OffersResponse, onLink: (url: string, event: Event) => void): HTMLElement {
  const { styles, settings, privacyUrl, offers } = answer;
  const { disclaimer, text, privacy, publisher_name: name, publisher_privacy_policy: publisherUrl } = styles.footer;
  const link = (url: string, label: string): Child =>
    url && label && anchor(url, '', (event) => onLink(url, event), label);
  const servicePage = urlOf(settings.privacy_policy) || privacyUrl;
  const publisherPage = urlOf(publisherUrl);
  const wall = settings.enable_offerwall && offers.find((offer) => offer.offerwall_enabled);
  return h(
    'footer',
    'footer',
    settings.show_disclaimer && disclaimer && h('p', '', disclaimer),
    text && h('p', '', text),
    h(
      'p',
      '',
      wall && link(wall.offerwall_url, settings.offerwall_cta),
      link(servicePage, privacy),
      publisherPage !== servicePage && link(publisherPage, name),
    ),
  );
}
