import ThemedImage from '@theme/ThemedImage';
import type { ReactNode } from 'react';
import styles from './diagram.module.css';

interface DiagramProps {
  /** The alternative text. */
  alt: string;
  light: string;
  dark: string;
  width: string;
  height: string;
}

/** A drawn diagram. Pages write it as a fence marked `mermaid`. */
export function Diagram({ alt, light, dark, width, height }: DiagramProps): ReactNode {
  return (
    <figure className={styles.diagram}>
      <ThemedImage alt={alt} sources={{ light, dark }} width={width} height={height} loading="lazy" />
    </figure>
  );
}
