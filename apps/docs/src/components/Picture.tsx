import ThemedImage from '@theme/ThemedImage';
import type { ReactNode } from 'react';
import styles from './picture.module.css';

interface PictureProps {
  alt: string;
  light: string;
  /** The dark variant. If absent, both modes show the light picture. */
  dark?: string;
  width?: number;
  height?: number;
  /** Whether the picture is a screenshot, which gets a border. */
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
