import ThemedImage from '@theme/ThemedImage';
import type { ReactNode } from 'react';
import styles from './picture.module.css';

interface PictureProps {
  alt: string;
  light: string;
  /** The same in dark colours; the light one is shown in both modes when absent. */
  dark?: string;
  width?: number;
  height?: number;
  /** Whether it shows a screen, which gets an edge. */
  screenshot?: boolean;
}

/** A picture that fits the colour mode. */
export function Picture({
  alt,
  light,
  dark = light,
  width,
  height,
  screenshot = false,
}: PictureProps): ReactNode {
  return (
    <ThemedImage
      alt={alt}
      sources={{ light, dark }}
      width={width}
      height={height}
      loading="lazy"
      className={screenshot ? `screenshot ${styles.screenshot}` : undefined}
    />
  );
}
