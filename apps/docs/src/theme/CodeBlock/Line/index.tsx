import Line from '@theme-original/CodeBlock/Line';
import { memo } from 'react';

/**
 * A line of code, which is rendered again only after a change, because its parents change several times while a page
 * opens.
 */
export default memo(Line);
