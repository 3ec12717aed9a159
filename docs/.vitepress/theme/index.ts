// Without the web fonts of the default theme: the fonts of the system are enough.
import Theme from 'vitepress/theme-without-fonts';
import './style.css';

// biome-ignore lint/style/noDefaultExport: VitePress reads it.
export default Theme;
