import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import dart from 'highlight.js/lib/languages/dart';
import go from 'highlight.js/lib/languages/go';
import json from 'highlight.js/lib/languages/json';
import kotlin from 'highlight.js/lib/languages/kotlin';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import swift from 'highlight.js/lib/languages/swift';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import yaml from 'highlight.js/lib/languages/yaml';
import { escapeHtml } from '../../platform/lib/escape-html.ts';
import { withOwnKeys } from './own-keys.ts';

const languages = { sh: bash, dart, go, json, kotlin, php, python, swift, ts: typescript, html: xml, yaml };
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);
hljs.registerAliases(['js', 'tsx'], { languageName: 'ts' });
hljs.registerAliases(['xml'], { languageName: 'html' });

/**
 * Highlights a code snippet and inserts placeholders for the reader's keys. Unknown languages are rendered as plain
 * text.
 */
export function renderCode(text: string, language: string, isDemo: boolean): string {
  const code = hljs.getLanguage(language) === undefined ? escapeHtml(text) : hljs.highlight(text, { language }).value;
  return `<div class="code"><pre tabindex="0"><code>${withOwnKeys(code, isDemo)}</code></pre></div>\n`;
}
