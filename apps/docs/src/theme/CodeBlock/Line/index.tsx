import Line from '@theme-original/CodeBlock/Line';
import { memo } from 'react';

/** A line of code, drawn anew only when it is another. What is around it changes several times while a page opens. */
export default memo(Line);
