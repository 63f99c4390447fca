import { termsRules } from '@perkwire/client';
import sanitizeHtml from 'sanitize-html';

const allowedTags = [...termsRules.tags];

const allowedStyles = Object.fromEntries(
  Object.entries(termsRules.styles).map(([name, pattern]) => [name, [new RegExp(`^(${pattern})$`, 'i')]]),
);

/**
 * Sanitises offer terms so that they are safe to store and to render as raw HTML. Keeps only allowed tags and https
 * links, which open in a new window (docs/reference/fetch-offers.md#request).
 */
export function sanitiseTerms(html: string): string {
  return sanitizeHtml(html, {
    allowedTags,
    nonTextTags: [...termsRules.dropped],
    allowedAttributes: { '*': ['style'], a: ['href', 'rel', 'target'] },
    allowedStyles: { '*': allowedStyles },
    allowedSchemes: ['https'],
    allowProtocolRelative: false,
    transformTags: {
      a: (tagName, { href, style }) => ({
        tagName,
        // Keep only absolute links, because following a relative one would navigate away from the page or app that
        // displays the terms.
        attribs: {
          ...(style === undefined ? {} : { style }),
          ...(href !== undefined && /^https:\/\//i.test(href) ? { href } : {}),
          rel: 'noopener noreferrer nofollow',
          target: '_blank',
        },
      }),
    },
  });
}
