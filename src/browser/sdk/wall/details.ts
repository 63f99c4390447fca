import { callJson } from '../api.ts';
import { closeDialog, openDialog } from '../compat.ts';
import { sanitise } from '../sanitise.ts';
import type { Offer } from '../types.ts';
import { anchor, button, h } from '../views/dom.ts';
import { media } from '../views/image.ts';
import { ctaLink, type TileContext } from './tile.ts';

/**
 * Opens a dialog in `root` with all details of an offer. The user closes it with its button, the Escape key or a click
 * outside.
 */
export function openDetails(offer: Offer, context: TileContext, root: HTMLElement): void {
  const { onLink, answer, words } = context;
  const { labels } = words;
  const dialog = h(
    'dialog',
    { class: 'details', 'aria-label': offer.title },
    media(offer, ['hero_image', 'offer_image'], context.base, 640),
    h(
      'div',
      'text',
      offer.advertiser_name !== '' && h('p', 'brand', offer.advertiser_name),
      h('h2', { tabindex: '-1', autofocus: true }, offer.title),
      offer.description !== '' && h('p', '', offer.description),
      offer.is_loyalty &&
        offer.loyalty_requirements !== '' &&
        h('p', 'loyalty', h('span', '', offer.loyalty_requirements)),
      offer.mini_text !== '' && h('p', 'quiet', offer.mini_text),
      terms(offer, context),
      h(
        'div',
        'actions',
        ctaLink(offer, context),
        answer.settings.enable_wallet && offer.save_for_later_url !== '' && saveForLater(offer, answer.settings),
        offer.useraction_url !== '' &&
          offer.useraction_cta !== '' &&
          anchor(offer.useraction_url, 'button', (event) => onLink(offer.useraction_url, event), offer.useraction_cta),
        button('button', () => closeDialog(dialog), labels.close),
      ),
    ),
  );
  dialog.addEventListener('click', (event) => event.target === dialog && closeDialog(dialog));
  dialog.addEventListener('close', () => dialog.remove());
  root.append(dialog);
  openDialog(dialog, true, 'dark');
}

function terms(offer: Offer, { onLink, answer, words }: TileContext): HTMLElement | null {
  if (offer.terms_and_conditions.trim() === '') return null;
  const click = (event: Event): void => {
    const target = (event.target as Element).closest('a');
    if (target !== null) onLink(target.href, event);
  };
  return h(
    'details',
    '',
    h('summary', '', words.labels.terms),
    h('div', { class: 'terms', click }, sanitise(offer.terms_and_conditions, answer.terms)),
  );
}

function saveForLater(
  offer: Offer,
  { perkswallet_cta, saved_offer_text }: TileContext['answer']['settings'],
): HTMLElement {
  const click = async (): Promise<void> => {
    saveButton.disabled = true;
    try {
      await callJson('POST', offer.save_for_later_url);
      saveButton.textContent = saved_offer_text;
    } catch {
      saveButton.disabled = false;
    }
  };
  const saveButton = button('button', () => void click(), perkswallet_cta);
  return saveButton;
}
