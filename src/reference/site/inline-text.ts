import { type Html, trusted } from '../../platform/http/html.ts';
import { escapeHtml } from '../../platform/lib/escape-html.ts';

/**
 * Renders the inline markup of an API description: `code`, **strong** and [links](/docs). Everything else is plain
 * text.
 */
export const inlineText = (text: string): Html =>
  trusted(
    escapeHtml(text)
      .replace(/`([^`]+)`/g, '<code>$1</code>')
      .replace(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
      .replace(/\[([^\]]+)\]\((\/[\w/#-]*)\)/g, '<a href="$2">$1</a>'),
  );
