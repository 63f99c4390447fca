import { progressText } from '../labels.ts';
import type { Offer } from '../types.ts';
import {
  brand,
  lastRow,
  loyalty,
  miniText,
  noButton,
  thirdAction,
  title,
  type ViewContext,
  yesButton,
} from './components.ts';
import { h } from './dom.ts';
import { imageUrl, media } from './image.ts';

/** Maximum image width, in CSS pixels. */
const imageWidthPx = 480;

/** Renders a single offer unit, with one offer, its buttons and the progress. `index` starts at 0. */
export function singleView(context: ViewContext, offer: Offer, index: number): HTMLElement {
  const { styles, settings, offers } = context.answer;
  const beside = ['left', 'right'].includes(styles.popup.image_position)
    ? ` beside ${styles.popup.image_position}`
    : '';
  const types = beside === '' ? ['hero_image', 'offer_image'] : ['offer_image', 'hero_image'];
  const isImageShown = styles.popup.showImage && styles.offerText.show_image;
  const image = isImageShown && imageUrl(offer, types) !== '' && media(offer, types, context.base, imageWidthPx);
  const heading = title(offer.title);
  const buttons = [yesButton(context, offer), noButton(context, offer)];
  if (isNoFirst(settings.button_order)) buttons.reverse();
  return h(
    'div',
    'single',
    h(
      'article',
      { class: `offer${beside}`, 'aria-labelledby': heading.id },
      image,
      h(
        'div',
        'text',
        brand(context, offer),
        heading.element,
        h('p', 'description', offer.description),
        loyalty(offer),
        h('div', 'buttons', ...buttons),
        miniText(offer),
        lastRow(context, offer, thirdAction(context, offer, 'quiet')),
      ),
    ),
    offers.length > 1 ? progress(context, index) : null,
  );
}

/** Returns whether the decline button comes first, as in "no_first", "reverse" or "negative_first". */
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
  const isText = /^(text|num|frac)/.test(type);
  const content =
    type === 'none'
      ? null
      : isText
        ? h('span', '', text)
        : h('span', { class: `marks ${type === 'bar' ? 'bar' : 'dots'}`, role: 'img', 'aria-label': text }, ...marks);
  return h('div', `progress${answer.settings.fixed_progress_bar ? ' fixed' : ''}`, back, content, h('span', 'spacer'));
}
