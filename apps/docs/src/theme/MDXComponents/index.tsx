import Components from '@theme-original/MDXComponents';
import DocCardList from '@theme/DocCardList';
import TabItem from '@theme/TabItem';
import Tabs from '@theme/Tabs';
import { BeforeAfter } from '@site/src/components/BeforeAfter';
import { Column, Columns } from '@site/src/components/Columns';
import { Diagram } from '@site/src/components/Diagram';
import { Keys } from '@site/src/components/Keys';
import { Command } from '@site/src/components/Command';
import { Picture } from '@site/src/components/Picture';
import { ProductCard, ProductGrid } from '@site/src/components/ProductCard';
import { Refusal } from '@site/src/components/Refusal';
import { Screenshot } from '@site/src/components/Screenshot';

/** Components that pages use without an import. */
// Docusaurus insists on a default export.
export default {
  ...Components,
  BeforeAfter,
  Column,
  Columns,
  Command,
  Diagram,
  DocCardList,
  Keys,
  Picture,
  ProductCard,
  ProductGrid,
  Refusal,
  Screenshot,
  TabItem,
  Tabs,
};
