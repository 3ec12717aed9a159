/** A self-contained HTML page, and HTML templates with escaping. */
import { PLOT_STYLE } from '../plot/look.js';
import { escaped } from '../plot/markup.js';
import { PAGE_SCRIPT } from './page-script.js';
import { PAGE_STYLE } from './page-style.js';

/** Defence in depth: the page loads nothing, even if a text were inserted unescaped. */
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/** `style` is added to the style of all pages. */
export function pageDocument(title: string, body: Markup, style = ''): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Markup(PLOT_STYLE + PAGE_STYLE + style)}</style>
</head>
<body>
${body}
<script>${new Markup(PAGE_SCRIPT)}</script>
</body>
</html>
`.text;
}

/** Text that is already HTML. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Markup | string | number | undefined | readonly Part[];

/** A template for HTML: values are escaped unless they are `Markup`. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(strings.reduce((text, string, i) => text + written(parts[i - 1]) + string));
}

function written(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Markup) return part.text;
  if (typeof part === 'object') return part.map(written).join('');
  return escaped(String(part));
}
