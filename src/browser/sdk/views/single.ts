import { progressText } from '../labels.ts';
import type { Offer } from '../types.ts';
import { h } from './dom.ts';
import {
  brand,
  extras,
  loyalty,
  miniText,
  noButton,
  terms,
  title,
  twoLengths,
  type ViewContext,
  yesButton,
} from './parts.ts';
import { picture, pictureUrl } from './picture.ts';

/** Widest a picture is shown (CSS pixels). */
const widthPx = 480;

/** The single offer unit: one offer, its buttons, and where the user is in the row. `index` from 0. */
export function singleView(context: ViewContext, offer: Offer, index: number): HTMLElement {
  const { styles, settings, offers } = context.answer;
  const beside = ['left', 'right'].includes(styles.popup.image_position)
    ? ` beside ${styles.popup.image_position}`
    : '';
  const types = beside === '' ? ['hero_image', 'offer_image'] : ['offer_image', 'hero_image'];
  const shown = styles.popup.showImage && styles.offerText.show_image;
  const image = shown ? picture(pictureUrl(offer, types), context.base, widthPx) : null;
  const heading = title(offer.title, offer.short_headline);
  const buttons = [yesButton(context, offer), noButton(context, offer)];
  if (isNoFirst(settings.button_order)) buttons.reverse();
  return h(
    'div',
    { class: 'single' },
    h(
      'article',
      { class: `offer${beside}`, 'aria-labelledby': heading.id },
      image === null ? null : h('div', { class: 'media' }, image),
      h(
        'div',
        { class: 'text' },
        brand(context, offer),
        heading.element,
        h('p', { class: 'description' }, ...twoLengths(offer.description, offer.short_description)),
        loyalty(offer),
        h('div', { class: 'buttons' }, ...buttons),
        miniText(offer),
        extras(context, offer),
        terms(context, offer),
      ),
    ),
    offers.length > 1 ? progress(context, index) : null,
  );
}

/** "no_first", "reverse", "negative_first" and the like. */
const isNoFirst = (order: string): boolean => /^(no|neg|rev)/i.test(order);

function progress(context: ViewContext, index: number): HTMLElement {
  const { answer, labels, actions } = context;
  const total = answer.offers.length;
  const type = answer.settings.progress_bar_type;
  const text = progressText(labels, index + 1, total);
  const back = h('button', {
    type: 'button',
    class: 'back',
    disabled: index === 0,
    'aria-label': labels.back,
    click: () => actions.back(),
  });
  const marks = answer.offers.map((_offer, at) => h('i', { class: at === index ? 'now' : at < index ? 'done' : '' }));
  const isText = ['text', 'number', 'numbers', 'fraction'].includes(type);
  const shown =
    type === 'none'
      ? null
      : isText
        ? h('span', {}, text)
        : h('span', { class: `marks ${type === 'bar' ? 'bar' : 'dots'}`, role: 'img', 'aria-label': text }, ...marks);
  return h(
    'div',
    { class: `progress${answer.settings.fixed_progress_bar ? ' fixed' : ''}` },
    back,
    shown,
    h('span', { class: 'spacer' }),
  );
}
