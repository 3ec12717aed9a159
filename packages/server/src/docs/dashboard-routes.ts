/** The page at `/dashboard`, which shows the server at work. */
import { DASHBOARD_FILES, dashboardPage } from '@batchwise/dashboard';
import { fileRoute } from '../http/file-route.js';
import type { HttpRoute } from '../http/http-route.js';
import { pageRoute } from '../http/page-route.js';

export function dashboardRoutes(title: string): HttpRoute[] {
  return [
    pageRoute('/dashboard', () => dashboardPage(`Dashboard: ${title}`)),
    // Not kept: the modules name each other without a version.
    ...DASHBOARD_FILES.map((file) => fileRoute('/dashboard', file, 'no-cache')),
  ];
}
