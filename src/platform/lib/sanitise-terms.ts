import { termsRules } from '@perkwire/client';
import sanitizeHtml from 'sanitize-html';

const allowedTags = [...termsRules.tags];

const allowedStyles = Object.fromEntries(
  Object.entries(termsRules.styles).map(([name, pattern]) => [name, [new RegExp(`^(${pattern})$`, 'i')]]),
);

/**
 * Sanitises terms so that they are safe to store and to show as raw HTML: only allowed tags, and https links that open
 * in a new window (docs/reference/fetch-offers.md#request).
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
        // A relative link would navigate the page or app that shows the terms.
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
