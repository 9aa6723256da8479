import type { SidebarsConfig } from '@docusaurus/plugin-content-docs';
import { fullSitePages } from './pages.ts';

const sidebars: SidebarsConfig = {
  toolhive: fullSitePages.map((id) =>
    id === 'toolhive/index' ? { type: 'doc', id, label: 'Introduction' } : id,
  ),
};

// Docusaurus insists on a default export.
export default sidebars;
