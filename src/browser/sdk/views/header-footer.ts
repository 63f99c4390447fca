import { urlOf } from '../answer.ts';
import type { Answer } from '../types.ts';
import { anchor, type Child, h } from './dom.ts';

export function header({ styles }: Answer, headingId: string): HTMLElement {
  const { text, lead_in_text: lead } = styles.header;
  return h('header', 'header', h('h2', { id: headingId, class: 'heading' }, text), lead && h('p', 'lead', lead));
}

/** Disclaimer, and links to all offers and to the privacy pages of the service and of the publisher. */
export function footer(answer: Answer, onLink: (url: string, event: Event) => void): HTMLElement {
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
